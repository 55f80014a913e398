package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
	"github.com/pkg/errors"
)

// measure is a name of -measures.
type measure struct {
	name, unit, help string
	list             func(o *options) []lab.Measure
}

// version names what the measures compute. They are code of this program, whose sources belong to every key. A measure
// that reads more than the text and the trainer adds it to the version.
const version = "examples/lab"

func measures() []measure {
	return []measure{
		{"verified", "", "worst error of the gradients of the parts that are not the baseline's", verified},
		{"memory", "MiB", "of parameters, moments and programs", func(*options) []lab.Measure {
			return []lab.Measure{lab.Memory()}
		}},
		{"decode", "tokens/s", "speed of writing single tokens", func(*options) []lab.Measure {
			return []lab.Measure{lab.Decoding()}
		}},
		{"state", "KiB", "that a decoder stores for a sequence of block_size tokens", func(*options) []lab.Measure {
			return []lab.Measure{lab.State()}
		}},
		{"coordinates", "", "changes of the last residual stream and of the logits since step 0", coordinates},
		{"cost", "ns/token", "time of a token at each of -contexts, forward and backward", costs},
	}
}

func verified(o *options) []lab.Measure {
	reads := []string{version, "baseline"}
	for _, p := range allParts() {
		reads = append(reads, p.of(&o.base))
	}
	return []lab.Measure{{Name: "verified", Version: strings.Join(reads, " "), Of: (&checked{base: o.base}).worst}}
}

func measureNames() string {
	var list []string
	for _, m := range measures() {
		list = append(list, fmt.Sprintf("%s (%s)", m.name, m.help))
	}
	return strings.Join(list, ", ")
}

// chosenMeasures returns the measures of -measures.
func (o *options) chosenMeasures() (list []lab.Measure, err error) {
	chosen, names := words(o.measures), []string(nil)
	for _, m := range measures() {
		names = append(names, m.name)
		if slices.Contains(chosen, "all") || slices.Contains(chosen, m.name) {
			list = append(list, m.list(o)...)
		}
		chosen = slices.DeleteFunc(chosen, func(w string) bool { return w == m.name })
	}
	for _, w := range chosen {
		if w != "all" {
			return nil, program.OneOf("-measures", w, append(names, "all")...)
		}
	}
	if o.given["contexts"] && !slices.ContainsFunc(list, func(m lab.Measure) bool { return isCost(m.Name) }) {
		return nil, errors.New("-contexts: got it without -measures cost")
	}
	return list, nil
}

// checked holds the errors of the Cases that were run.
type checked struct {
	sync.Mutex
	base gpt.Config
	done map[string]float64
}

// worst runs the Cases of the parts that differ from the baseline, or of all parts if none does, and returns their
// worst error in float64. A wrong gradient is an error.
func (r *checked) worst(ctx context.Context, t *gpt.Trainer) (worst float64, err error) {
	r.Lock()
	defer r.Unlock()
	c := t.Config()
	same := func(p part) bool { return p.of(&c) == p.of(&r.base) }
	list := slices.DeleteFunc(allParts(), same)
	if len(list) == 0 {
		list = allParts()
	}
	for _, p := range list {
		for _, test := range inventory.Cases() {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			if !slices.Contains(test.Parts, p.of(&c)) {
				continue
			}
			if _, seen := r.done[test.Name]; !seen {
				if err := r.run(test); err != nil {
					return 0, err
				}
			}
			worst = max(worst, r.done[test.Name])
		}
	}
	return worst, nil
}

func (r *checked) run(test verify.Case) error {
	report, err := test.Run()
	if err == nil && !report.OK() {
		err = errors.New("a gradient is wrong")
	}
	if err != nil {
		return errors.WithMessage(err, test.Name)
	}
	if r.done == nil {
		r.done = map[string]float64{}
	}
	r.done[test.Name] = float64(report.Worst)
	return nil
}

// costs returns a measure for each of -contexts: about as many tokens are in a step at all of them.
func costs(o *options) (list []lab.Measure) {
	for _, size := range o.lengths {
		tokens := o.lengths[len(o.lengths)-1]
		list = append(list, lab.Cost(size, tokens))
	}
	return list
}

// isCost reports whether a measure is one of costs.
func isCost(name string) bool { return strings.HasPrefix(name, "cost at ") }
