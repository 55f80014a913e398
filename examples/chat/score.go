package main

import (
	"context"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
)

// scorer computes the log-probabilities of the tokens of prompts, one prompt after the other.
type scorer struct {
	reader *decode.Scorer
	turn   chan struct{} // holds an element while a prompt is read
}

func newScorer(n decode.Network) (*scorer, error) {
	r, err := decode.NewScorer(n)
	return &scorer{r, make(chan struct{}, 1)}, err
}

// score returns the tokens of a prompt with their log-probabilities, and with the likeliest tokens in their places. The
// first one, which follows nothing, has none: its log-probability is NaN.
func (e *engine) score(ctx context.Context, prompt []int, top int) (list []token, err error) {
	s, err := e.scorer()
	if err != nil {
		return nil, err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	add := func(d service.Drawn) error {
		said, err := e.speaks(nil).Decode([]int{d.ID})
		list = append(list, token{Drawn: d, text: said})
		return err
	}
	err = add(service.Drawn{Choice: service.Choice{ID: prompt[0], LogProb: math.NaN()}})
	if err != nil || len(prompt) == 1 {
		return list, err
	}
	next := 1
	for z, err := range s.reader.Logits(ctx, prompt[:len(prompt)-1]) {
		if err != nil {
			return nil, err
		}
		d, err := service.Score(z, prompt[next], top)
		if err != nil {
			return nil, err
		}
		if err := add(d); err != nil {
			return nil, err
		}
		next++
	}
	return list, nil
}
