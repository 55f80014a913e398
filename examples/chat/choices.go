package main

import (
	"context"
	"net/http"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
)

// mostChoices is the largest number of answers to a request.
const mostChoices = 128

// ending is how an answer ended.
type ending struct {
	drawn  int // tokens
	finish string
}

// choice returns the i-th of the questions that are asked at once: they differ in their seeds.
func (q question) choice(i int) question {
	q.sampler = q.choices(i)
	return q
}

// samplers returns the samplers of a request's choices. The first is that of a request for one.
func (r *request) samplers() func(i int) *search.Sampler {
	return func(i int) *search.Sampler {
		s := r.sampling
		if s.seed != 0 {
			s.seed = max(1, s.seed+uint64(i)*0x9e3779b97f4a7c15)
		}
		made := s.sampler()
		if len(r.bias) > 0 {
			made.Rules = append(made.Rules, search.Bias(r.bias))
		}
		return made
	}
}

// answers writes all answers to a question, in lanes of their own, and calls say with their parts, one after the other.
// It ends early with the first error.
func (r *reply) answers(ctx context.Context, h *http.Request, q question, say func(i int, p part) error) (
	ends []ending, err error) {

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	var mutex sync.Mutex // of say and err
	ends = make([]ending, r.n)
	for i := range ends {
		group.Go(func() {
			failed := r.try(h, func() (err error) {
				one := func(p part) error {
					mutex.Lock()
					defer mutex.Unlock()
					r.exchange.draws(len(p.tokens))
					return say(i, p)
				}
				if q.echo != "" {
					if err := one(part{text: q.echo}); err != nil {
						return err
					}
				}
				ends[i].drawn, ends[i].finish, err = r.answer(ctx, q.choice(i), one)
				return err
			})
			if failed == nil {
				return
			}
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				err = failed
			}
			stop(failed)
		})
	}
	group.Wait()
	return ends, err
}
