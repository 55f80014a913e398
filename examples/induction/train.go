package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// result is a trained model with the measurements during the training.
type result struct {
	options
	model   *gpt.Model
	history []seen
}

// train trains a model on texts, and measures it about forty times.
func train(ctx context.Context, o options, stdout io.Writer) (*result, error) {
	c := o.Config
	r := &result{options: o}
	var step *graph.Program
	_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) (err error) {
		c.Configure(g)
		if r.model, err = gpt.New(g, c, c.BatchSize); err != nil {
			return err
		}
		step, err = graph.Compile(r.model.Objective, r.model.Trainable()...)
		return err
	})
	if err != nil {
		return nil, err
	}
	adam, err := optim.New(r.model.Trainable(), optim.AdamW{Beta1: c.Beta1, Beta2: c.Beta2})
	if err != nil {
		return nil, err
	}
	adam.Decay, adam.Clip = c.WeightDecay, c.GradClip
	eyes, err := inspect.Tap(r.model, "h.*.attn.weights", "logits")
	if err != nil {
		return nil, err
	}
	rng, every := rand.New(rand.NewPCG(c.Seed, 0x74657874)), max(1, c.MaxIters/40)
	fmt.Fprintf(stdout, "%8s  %10s  %10s  %9s  %8s\n", "step", "first half", "repetition", "induction", "previous")
	for i := range c.MaxIters + 1 {
		if i%every == 0 || i == c.MaxIters {
			now, err := r.see(eyes, i)
			if err != nil {
				return nil, err
			}
			r.history = append(r.history, now)
			fmt.Fprintf(stdout, "%8d  %10.3f  %10.3f  %9.3f  %8.3f\n",
				i, now.first, now.second, most(now.induction), most(now.previous))
		}
		if i == c.MaxIters || ctx.Err() != nil {
			break
		}
		batch(rng, r.model.Tokens.Ints(), r.model.Targets.Ints(), c.BlockSize, c.VocabSize)
		if err := step.Run(); err != nil {
			return nil, err
		}
		if _, err := adam.Update(step, c.RateAt(i)); err != nil {
			return nil, err
		}
	}
	return r, context.Cause(ctx)
}
