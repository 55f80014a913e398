package main

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pkg/errors"
)

// byHand compares autodiff's gradients at these weights with the gradients by hand.
func (c *checking) byHand() {
	const what = "gradients of the first block, against those by hand"
	ids, err := c.few()
	if err != nil {
		c.failure(what, err)
		return
	}
	m, err := firstBlock(c.model, ids)
	if err != nil {
		c.failure(what, err)
		return
	}
	var bar *program.Bar
	r, err := verify.CheckContext(c.ctx, m, func(_, total int) {
		if bar == nil {
			bar = program.NewBar(c.stderr, "verifying", 0, total)
		}
		bar.Add(1, "one derivative at a time")
	})
	if bar != nil {
		bar.Close()
	}
	if err != nil {
		c.failure(what, err)
		return
	}
	c.say(r.OK(), what, fmt.Sprintf("%.1e apart, %.1e in float32", r.Worst, r.WorstFloat32),
		fmt.Sprintf("at most %.0e and %.0e", r.Tolerance, r.ToleranceFloat32))
}

// firstBlock returns a model with only the first block and only the tokens of a short text as its vocabulary: small
// enough for formulas that are written to be read.
func firstBlock(m *gpt.Model, ids []int) (v verify.Model, err error) {
	known := slices.Compact(slices.Sorted(slices.Values(ids)))
	c := m.Config
	c.NLayer, c.BlockSize, c.VocabSize, c.Adapters = 1, len(ids)-1, len(known), gpt.Adapters{}
	small, err := gpt.New(graph.New(graph.Float64, 1), c, 1)
	if err != nil {
		return v, err
	}
	for _, p := range small.Params() {
		from, ok := m.Graph.Leaf(p.Name())
		if !ok {
			return v, errors.Errorf("no parameter %s", p.Name())
		}
		if err := cut(p.Name(), p.Tensor(), from.Tensor(), known); err != nil {
			return v, err
		}
	}
	v = verify.Model{Config: small.Config, Parameters: verify.ParametersOf(small.Params())}
	for i := range len(ids) - 1 {
		v.Tokens = append(v.Tokens, slices.Index(known, ids[i]))
		v.Targets = append(v.Targets, slices.Index(known, ids[i+1]))
	}
	return v, nil
}

// cut copies a parameter: of the vocabulary only the known tokens, and of positions only the first.
func cut(name string, to, from graph.Tensor, known []int) error {
	at := func(i int) int { return i } // positions are in the order of their rows
	switch name {
	case "wte.weight":
		at = func(i int) int { return known[i/to.Shape[1]]*to.Shape[1] + i%to.Shape[1] }
	case "lm_head.weight":
		at = func(i int) int { return i/len(known)*from.Shape[1] + known[i%len(known)] }
	case "lm_head.bias":
		at = func(i int) int { return known[i] }
	}
	for i := range to.Len() {
		if err := to.Set(i, from.At(at(i))); err != nil {
			return err
		}
	}
	return nil
}
