package main

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
)

// seen holds measurements of a model, averaged over texts whose second half repeats the first.
type seen struct {
	Step                int
	First, Second       float64   // loss in nats, of new tokens and of repeated ones
	Induction, Previous []float64 // scores of the heads, the first block first
}

func most(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return slices.Max(x)
}

const texts = 8 // number of texts to measure on

// see measures the model through taps of its weights and logits.
func (o options) see(eyes *inspect.Probe, step int) (s seen, err error) {
	s.Step = step
	for _, ids := range probes(o, texts) {
		activations, err := eyes.Run(ids[:o.BlockSize])
		if err != nil {
			return s, err
		}
		at := 0
		for name, x := range activations.All() {
			if name == "logits" {
				lens := inspect.Lens{x}
				for i := range o.BlockSize { // the token after token i is repeated from context/2 on
					if loss := lens.Loss(0, i, ids[i+1]) / texts; i+1 < o.BlockSize/2 {
						s.First += loss / float64(o.BlockSize/2-1)
					} else if i >= o.BlockSize/2 {
						s.Second += loss / float64(o.BlockSize-o.BlockSize/2)
					}
				}
				continue
			}
			scores, err := inspect.HeadScores(x, ids[:o.BlockSize])
			if err != nil {
				return s, err
			}
			for _, score := range scores {
				if at == len(s.Induction) {
					s.Induction, s.Previous = append(s.Induction, 0), append(s.Previous, 0)
				}
				s.Induction[at] += score.Induction / texts
				s.Previous[at] += score.Previous / texts
				at++
			}
		}
	}
	return s, nil
}
