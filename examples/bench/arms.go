package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pkg/errors"
)

// turn is the number of steps for which an arm is timed before the next one is.
const turn = 5

// variants returns the arms of -arms.
func (o options) variants() (arms []lab.Arm) {
	for name := range strings.SplitSeq(o.arms, ";") {
		arms = append(arms, lab.Arms(strings.TrimSpace(name))...)
	}
	return arms
}

// ratios times a configuration and variants of it in turn, and prints their times as multiples of the first. The
// intervals are those of the mean logarithm of the ratios of each turn.
func ratios(w io.Writer, c gpt.Config, arms []lab.Arm, steps int) error {
	if steps < 2*turn {
		return errors.Errorf("-steps: got %d with -arms, want %d or more: every arm has turns of %d steps",
			steps, 2*turn, turn)
	}
	var trainers []*gpt.Trainer
	for _, a := range append(lab.Arms("baseline"), arms...) {
		changed, err := a.Apply(c)
		if err != nil {
			return errors.WithMessage(err, "-arms: "+a.Name)
		}
		t, err := newTrainer(changed)
		if err != nil {
			return errors.WithMessage(err, "-arms: "+a.Name)
		}
		trainers = append(trainers, t)
	}
	logs := make([][]float64, len(trainers)) // of the milliseconds of a step
	for n := range 1 + steps/turn {
		for i, t := range trainers {
			var ms []float64
			for range turn {
				p, err := t.Step()
				if err != nil {
					return err
				}
				ms = append(ms, p.Took.Seconds()*1e3)
			}
			if n > 0 { // the first turn warms up
				logs[i] = append(logs[i], math.Log(program.Median(ms)))
			}
		}
	}
	fmt.Fprintln(w, "| arm | ms/step | times the baseline, 95 % |\n|---|---:|---:|")
	fmt.Fprintf(w, "| baseline | %.2f | |\n", math.Exp(program.Median(logs[0])))
	for i, a := range arms {
		d, err := paired.Compare(logs[i+1], logs[0], 1)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %.2f | %.3f (%.3f to %.3f) |\n", a.Name, math.Exp(program.Median(logs[i+1])),
			math.Exp(d.Mean), math.Exp(d.Low), math.Exp(d.High))
	}
	return nil
}
