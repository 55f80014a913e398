package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pkg/errors"
)

// turn is the number of steps, and turnTokens the number of decoded tokens, for which an arm is timed before the next
// one is.
const turn, turnTokens = 5, 32

// variants returns the arms of -arms.
func (o options) variants() (arms []lab.Arm) {
	for name := range strings.SplitSeq(o.arms, ";") {
		arms = append(arms, lab.Arms(strings.TrimSpace(name))...)
	}
	return arms
}

// ratios times a configuration and variants of it in turn, and prints their times as multiples of the first. The
// intervals are of the mean logarithm of the ratios of each turn.
func (o options) ratios(w io.Writer, c gpt.Config, decode bool) error {
	size, what, timed := turn, "step", stepping
	if decode {
		size, what = turnTokens, "token"
		timed = func(c gpt.Config) (func() (float64, error), error) { return feeding(c, o.weights) }
	}
	if o.steps < 2*size {
		return errors.Errorf("-steps: got %d with -arms, want %d or more: every arm has turns of %d %ss",
			o.steps, 2*size, size, what)
	}
	base := lab.Arms("baseline")
	if o.baseline != "" {
		base = lab.Arms(o.baseline)
	}
	arms := append(base, o.variants()...)
	var turns []func() (ms float64, err error)
	for i, a := range arms {
		name := "-arms: "
		if i == 0 {
			name = "-baseline: "
		}
		changed, err := a.Apply(c)
		if err != nil {
			return errors.WithMessage(err, name+a.Name)
		}
		f, err := timed(changed)
		if err != nil {
			return errors.WithMessage(err, name+a.Name)
		}
		turns = append(turns, f)
	}
	logs := make([][]float64, len(turns)) // of the milliseconds of a step
	for n := range 1 + o.steps/size {
		for i, f := range turns {
			ms, err := f()
			if err != nil {
				return err
			}
			if n > 0 { // the first turn warms up
				logs[i] = append(logs[i], math.Log(ms))
			}
		}
	}
	fmt.Fprintf(w, "| arm | ms/%s | times the baseline, 95 %% |\n|---|---:|---:|\n", what)
	fmt.Fprintf(w, "| %s | %.3g | |\n", arms[0].Name, math.Exp(program.Median(logs[0])))
	for i, a := range arms[1:] {
		d, err := paired.Compare(logs[i+1], logs[0], 1)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %.3g | %.3f (%.3f to %.3f) |\n", a.Name, math.Exp(program.Median(logs[i+1])),
			math.Exp(d.Mean), math.Exp(d.Low), math.Exp(d.High))
	}
	return nil
}

// stepping returns a function that times a turn of training steps.
func stepping(c gpt.Config) (func() (ms float64, err error), error) {
	t, err := newTrainer(c)
	if err != nil {
		return nil, err
	}
	return func() (float64, error) {
		var ms []float64
		for range turn {
			p, err := t.Step()
			if err != nil {
				return 0, err
			}
			ms = append(ms, p.Took.Seconds()*1e3)
		}
		return program.Median(ms), nil
	}, nil
}

// feeding returns a function that times a turn of tokens, which are decoded one by one.
func feeding(c gpt.Config, packing stored.Packing) (func() (ms float64, err error), error) {
	m, err := decoded(c, packing)
	if err != nil {
		return nil, err
	}
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		return nil, err
	}
	n := min(turnTokens, c.BlockSize)
	return func() (float64, error) {
		if err := d.Reset(); err != nil {
			return 0, err
		}
		start := time.Now()
		for i := range n {
			if _, err := d.Feed([]int{i % c.VocabSize}); err != nil {
				return 0, err
			}
		}
		return time.Since(start).Seconds() * 1e3 / float64(n), nil
	}, nil
}
