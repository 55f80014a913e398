package main

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// cost holds the time of a token at each context, forward and backward.
type cost struct {
	Variant string    `json:"variant"`
	Ns      []float64 `json:"ns_per_token"`
	Growth  float64   `json:"growth"` // of the time per token, from the shortest context to the longest
	Error   string    `json:"error,omitempty"`

	config gpt.Config
	times  [][]float64 // by context
}

// costs measures the baseline, every attention and the model without attention, with about the same number of tokens
// in a step at every context. It builds a program again in every turn, so that not all of them are held at once.
func costs(ctx context.Context, rows []*row, o options, stderr io.Writer) (list []*cost, err error) {
	for _, r := range rows {
		if r.config.Validate() != nil {
			continue // the first table shows the error
		}
		if r.Variant == "baseline" || strings.HasPrefix(r.Variant, "attention=") || r.Variant == "block=elman" {
			list = append(list, &cost{Variant: r.Variant, config: r.config, times: make([][]float64, len(o.contexts))})
		}
	}
	turns := min(o.rounds, 5)
	bar := program.NewBar(stderr, "costs", 0, turns*len(list)*len(o.contexts))
	defer bar.Close()
	for range turns {
		for _, c := range list {
			for i, size := range o.contexts {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				bar.Add(1, "%s at context %d", c.Variant, size)
				if c.Error != "" {
					continue
				}
				took, err := c.step(size, o.contexts[len(o.contexts)-1])
				if err != nil {
					c.Error = err.Error()
					continue
				}
				c.times[i] = append(c.times[i], took)
			}
		}
	}
	for _, c := range list {
		if c.Error != "" {
			continue
		}
		for _, times := range c.times {
			c.Ns = append(c.Ns, program.Median(times))
		}
		c.Growth = c.Ns[len(c.Ns)-1] / c.Ns[0]
	}
	return list, nil
}

// step returns the time of a forward and backward pass over random tokens, in ns per token; of two passes it times the
// second.
func (c *cost) step(size, tokens int) (ns float64, err error) {
	config := c.config
	config.BlockSize, config.BatchSize = size, max(1, tokens/size)
	if err := config.Validate(); err != nil {
		return 0, err
	}
	var m *gpt.Model
	var p *graph.Program
	_, err = graph.Build(graph.Float32, config.Seed, func(g *graph.Graph) (err error) {
		config.Configure(g)
		if m, err = gpt.New(g, config, config.BatchSize); err != nil {
			return err
		}
		p, err = graph.Compile(m.Loss, m.Trainable()...)
		return err
	})
	if err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(config.Seed, 0))
	for i := range m.Tokens.Ints() {
		m.Tokens.Ints()[i], m.Targets.Ints()[i] = rng.IntN(config.VocabSize), rng.IntN(config.VocabSize)
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
