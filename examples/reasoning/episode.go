package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// episode is a batch of questions with the thoughts and answers to them.
type episode struct {
	texts    [][]int     // complete
	logProbs [][]float64 // of the tokens that the agent drew, at the positions before them; 0 elsewhere
	right    []bool
}

// play lets the agent think about a batch of questions and answer them, drawing every token from its probabilities. If
// given is set, the agent reads right thoughts instead.
func (a *agent) play(rng *rand.Rand, s *search.Sampler, given bool) (e episode, err error) {
	if err := a.decoder.Reset(); err != nil {
		return e, err
	}
	next := make([][]int, a.batch)
	for range a.batch {
		q := a.question(rng)
		if given {
			q = append(q, a.reason(q, 0, rng)...)
		}
		e.texts = append(e.texts, q)
		e.logProbs = append(e.logProbs, make([]float64, a.tokens()))
	}
	for fed := 0; len(e.texts[0]) <= a.tokens(); {
		for b, text := range e.texts {
			if len(text) == a.tokens()-1 { // the thoughts are complete
				e.texts[b] = append(text, say)
			}
			next[b] = e.texts[b][fed:]
		}
		fed = len(e.texts[0])
		logits, err := a.decoder.Feed(next...)
		if err != nil {
			return e, err
		}
		for b, text := range e.texts {
			id, err := s.Draw(logits.Row(b))
			if err != nil {
				return e, err
			}
			e.logProbs[b][len(text)-1] = logProb(logits.Row(b), id)
			e.texts[b] = append(text, id)
		}
	}
	for _, text := range e.texts {
		e.right = append(e.right, text[a.tokens()] == a.parity(text))
	}
	return e, nil
}

// skip draws the random numbers of play: the questions, and one for every token.
func (a *agent) skip(rng *rand.Rand, s *search.Sampler) error {
	for range a.batch {
		a.question(rng)
	}
	logits := graph.Tensor{Shape: []int{2}, F32: make([]float32, 2)}
	for range a.batch * (a.thoughts + 1) {
		if _, err := s.Draw(logits); err != nil {
			return err
		}
	}
	return nil
}

// logProb returns ln softmax(logits)[id].
func logProb(logits graph.Tensor, id int) float64 {
	var sum float64
	for i := range logits.Len() {
		sum += math.Exp(logits.At(i) - logits.At(id))
	}
	return -math.Log(sum)
}

// accuracy returns the share of right answers.
func (a *agent) accuracy(ctx context.Context, o options, given bool) (float64, error) {
	rng, s := rand.New(rand.NewPCG(o.seed, 2)), search.NewSampler(o.seed+1)
	right, total := 0, 0
	for total < o.tests {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		e, err := a.play(rng, s, given)
		if err != nil {
			return 0, err
		}
		for _, r := range e.right {
			if total++; r {
				right++
			}
		}
	}
	return float64(right) / float64(total), nil
}
