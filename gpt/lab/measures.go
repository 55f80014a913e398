package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// measured names the code of the measures in this file.
const measured = "gpt/lab"

// Memory returns the measure "memory": the MiB of the parameters, of the optimizer's two moments and of the programs of
// training.
func Memory() Measure { return Measure{Name: "memory", Version: measured, Of: memory} }

// State returns the measure "state": the KiB that a decoder stores for a sequence of block_size tokens.
func State() Measure { return Measure{Name: "state", Version: measured, Of: decoderState} }

// Decoding returns the measure "decode": the tokens a second of writing single tokens until the window is full, the
// median of three turns behind one that warms up.
func Decoding() Measure {
	return Measure{Name: "decode", Version: measured, Of: decode, Higher: true, Timed: true}
}

// Cost returns the measure "cost at N" of a context of N tokens: the time of a forward and backward pass over random
// tokens, in ns per token. A step has about as many tokens as given; of two steps the second is timed.
func Cost(size, tokens int) Measure {
	return Measure{Name: fmt.Sprintf("cost at %d", size), Timed: true,
		Version: fmt.Sprintf("%s, %d tokens", measured, tokens),
		Of: func(ctx context.Context, t *gpt.Trainer) (float64, error) {
			c := t.Config()
			c.BlockSize, c.BatchSize, c.Context = size, max(1, tokens/max(1, size)), ctx
			return cost(c)
		}}
}

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

// memory returns the MiB of the parameters, of the optimizer's two moments and of the programs of training.
func memory(_ context.Context, t *gpt.Trainer) (float64, error) {
	c := t.Config()
	all, trained := c.Count()
	return float64(4*(all+2*trained)+int64(t.Model.Graph.Bytes())) / (1 << 20), nil
}

// decoderState returns the KiB of a decoder's state.
func decoderState(_ context.Context, t *gpt.Trainer) (float64, error) {
	n, err := t.Model.StateBytes()
	return float64(n) / (1 << 10), err
}

// decode returns the tokens a second of writing single tokens until the window is full, the median of three turns
// behind one that warms up.
func decode(ctx context.Context, t *gpt.Trainer) (float64, error) {
	d, err := gpt.NewDecoder(t.Model, 1)
	if err != nil {
		return 0, err
	}
	n := t.Config().BlockSize
	var seconds []float64
	for range 4 {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err := d.Reset(); err != nil {
			return 0, err
		}
		start := time.Now()
		for i := range n {
			if _, err := d.Feed([]int{i % t.Config().VocabSize}); err != nil {
				return 0, err
			}
		}
		seconds = append(seconds, time.Since(start).Seconds())
	}
	slices.Sort(seconds[1:])
	return float64(n) / seconds[2], nil
}
