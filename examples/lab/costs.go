package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// costs returns a measure for each of -contexts: about as many tokens are in a step at all of them.
func costs(o *options) (list []lab.Measure) {
	for _, size := range o.lengths {
		tokens := o.lengths[len(o.lengths)-1]
		list = append(list, lab.Measure{Name: fmt.Sprintf("cost at %d", size), Timed: true,
			Version: fmt.Sprintf("%s, %d tokens", version, tokens),
			Of: func(ctx context.Context, t *gpt.Trainer) (float64, error) {
				c := t.Config()
				c.BlockSize, c.BatchSize, c.Context = size, max(1, tokens/size), ctx
				return cost(c)
			}})
	}
	return list
}

// isCost reports whether a measure is one of costs.
func isCost(name string) bool { return strings.HasPrefix(name, "cost at ") }

// cost returns the time of a forward and backward pass over random tokens, in ns per token; of two passes it times the
// second.
func cost(c gpt.Config) (ns float64, err error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	var m *gpt.Model
	var p *graph.Program
	_, err = graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) (err error) {
		c.Configure(g)
		if m, err = gpt.New(g, c, c.BatchSize); err != nil {
			return err
		}
		p, err = graph.Compile(m.Objective, m.Trainable()...)
		return err
	})
	if err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	for i := range m.Tokens.Ints() {
		m.Tokens.Ints()[i], m.Targets.Ints()[i] = rng.IntN(c.VocabSize), rng.IntN(c.VocabSize)
	}
	var start time.Time
	for range 2 {
		start = time.Now()
		if err := p.Run(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(len(m.Tokens.Ints())), nil
}
