package main

import (
	"context"
	"net/http"
	"sync"
)

// mostChoices is the largest number of answers to a request.
const mostChoices = 128

// ending is how an answer ended.
type ending struct {
	drawn  int // tokens
	finish string
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
			failed := r.try(h, func() error {
				one := func(p part) error {
					mutex.Lock()
					defer mutex.Unlock()
					r.exchange.draws(len(p.tokens))
					return say(i, p)
				}
				if q.echo != "" {
					mutex.Lock()
					err := say(i, part{text: q.echo, tokens: q.echoed})
					mutex.Unlock()
					if err != nil {
						return err
					}
				}
				own, err := r.choice(q, i)
				if err != nil {
					return err
				}
				ear := ear{style: q.style}
				ends[i].drawn, ends[i].finish, err = r.answer(ctx, own, func(p part) error { return one(ear.hear(p)) })
				last := ear.end()
				if len(last.calls) > 0 {
					ends[i].finish = atCalls
				}
				if err == nil && (last.text != "" || last.calls != nil) {
					err = one(last)
				}
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
