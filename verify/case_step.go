package verify

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// forward is the Build of a Layer, at a site with positions.
func (c Case) forward(at nn.Site, x graph.Expr) graph.Expr {
	l := c.Layer(placed(at, at.Context, 0))
	if l == nil {
		at.Failf("verify: Layer: got nil, want a layer")
		return x
	}
	return l.Forward(x)
}

// placed returns the site with the positions of n tokens of every sequence, starting at first.
func placed(at nn.Site, n, first int) nn.Site {
	at.Positions = at.Ints("positions", at.Batch*n, at.Context, graph.NoneIgnored)
	for i := range at.Positions.Ints() {
		at.Positions.Ints()[i] = first + i%n
	}
	return at
}

// compareSteps compares Step with Forward if the Layer has both, two tokens of every sequence at a time. A type that
// embeds a layer and replaces its Forward inherits a Step that computes something else.
func (c Case) compareSteps(r *Report) error {
	if c.Layer == nil {
		return nil
	}
	var at nn.Site
	var x, y graph.Expr
	cached, layer := false, c.Layer
	c.Layer, c.Build = nil, func(site nn.Site, in graph.Expr) graph.Expr {
		l := layer(placed(site, site.Context, 0))
		_, cached = l.(nn.Cached)
		at, x, y = site, in, l.Forward(in)
		return y
	}
	if _, err := c.form(kernels64); err != nil || !cached {
		return err
	}
	r.Roads = append(r.Roads, "Step against Forward")
	at.Graph().SetTraining(false)
	want, err := computed(y)
	if err != nil {
		return err
	}
	caches := nn.Caches{}
	for first, n := 0, 0; first < at.Context; first += n {
		n = min(2, at.Context-first)
		_, err := at.Graph().BuildSibling(func(g *graph.Graph) error {
			g.SetTraining(false)
			s := g.Root()
			here, tokens := at, s.Value(input, graph.Const(0), at.Batch*n, at.Embd)
			pos := s.Ints("at", 1, at.Context, graph.NoneIgnored)
			here.Scope, here.Mask, here.Caches = s, nn.NewMask(s, at.Dims, nn.Causal{}), caches
			eachRow(at, first, n, func(step, forward int) {
				copy(tokens.Tensor().Row(step).F64, x.Tensor().Row(forward).F64)
			})
			pos.Ints()[0] = first
			got, err := computed(layer(placed(here, n, first)).(nn.Cached).Step(tokens, pos))
			if err == nil {
				eachRow(at, first, n, func(step, forward int) {
					r.compareStep(got.Row(step), want.Row(forward), forward)
				})
			}
			return err
		})
		if err != nil {
			return errors.Wrap(err, "Step")
		}
	}
	return nil
}

// eachRow calls pair with each row of a step of n tokens, starting at first, and its row among all tokens.
func eachRow(at nn.Site, first, n int, pair func(step, forward int)) {
	for b := range at.Batch {
		for i := range n {
			pair(b*n+i, b*at.Context+first+i)
		}
	}
}

func computed(y graph.Expr) (graph.Tensor, error) {
	p, err := graph.Compile(y)
	if err != nil {
		return graph.Tensor{}, err
	}
	err = p.Run() // before Value: a program that has not run has none
	return p.Value(), err
}

// compareStep adds a failure if a row of Step differs from Forward's, at most one per row.
func (r *Report) compareStep(step, forward graph.Tensor, row int) {
	largest := 0.0
	for i := range forward.Len() {
		largest = max(largest, math.Abs(forward.At(i)))
	}
	for i := range forward.Len() {
		if got, want := step.At(i), forward.At(i); !(math.Abs(got-want) <= r.Tolerance*largest) {
			r.Failures = append(r.Failures, fmt.Sprintf(
				"Step and Forward differ: row %d, column %d: Step has %v, Forward %v", row, i, got, want))
			return
		}
	}
}
