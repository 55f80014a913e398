package verify

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pkg/errors"
)

// Case checks one layer, at sizes that are all different (Dims) and with random parameters. It differentiates Σ y∘Δ by
// the input and by every parameter, where y is the result of the layer and Δ is random. If y is a single number, it
// differentiates y itself.
//
// With Forward and Backward, the layer is compared with these formulas by hand: by autodiff, by the kernels, and by the
// complex step of Forward. Without them, autodiff is compared with central differences of the reference graph, and the
// kernels with autodiff. The Report states which.
type Case struct {
	ID     string // the entry that it certifies
	Name   string
	Types  []string // the types of nn that it exercises
	Parts  []string // the parts of a gpt.Config that it certifies, such as norm=layernorm
	Source string   // paper and equations

	// Build declares the layer at a site and applies it to x (B·T, d). The result must depend on the input.
	Build func(at nn.Site, x graph.Expr) graph.Expr

	// Layer, given instead of Build, creates the layer whose Forward is applied to x, at a site that has positions. If
	// the layer is nn.Cached, its Step is compared with Forward, under a causal mask unless the layer has its own.
	Layer func(at nn.Site) nn.Layer

	// Forward is the layer by hand, and Backward returns its gradients by parameter name; "x" is the input. Set both or
	// neither.
	Forward  func(p hand.Parameters[complex128]) hand.Matrix[complex128]
	Backward func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64]

	// Bidirectional permits a token to see later tokens of its text, as in an encoder. Otherwise a layer that looks
	// ahead fails. A layer in which one text of the batch influences another always fails.
	Bidirectional bool

	Frozen []string // parameters without a gradient

	// Dims are the sizes at the site. A size of 0 means that of DefaultDims. A layer that needs another size, such as
	// heads in two groups, sets it here.
	Dims nn.Dims
}

const input = "x" // the name of a layer's input

// Run compares the gradients of the layer. It returns an error if the layer cannot be built or evaluated, and one that
// wraps ErrCoverage if the gradients do not cover the same parameters with the same shapes. Disagreements are in the
// Report.
func (c Case) Run() (*Report, error) {
	var r *Report
	err := guarded(func() (err error) {
		if r, err = c.run(); err == nil {
			err = c.compareSteps(r)
		}
		return err
	})
	if err != nil {
		return nil, errors.Wrapf(err, "case %s", c.Name)
	}
	return r, nil
}

// guarded calls f, which may call a user-defined function such as Build, and returns its panic as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("verify: a panic: %v", p)
		}
	}()
	return f()
}

func (c Case) run() (*Report, error) {
	switch {
	case (c.Build == nil) == (c.Layer == nil):
		return nil, errors.New("verify: give one of Build and Layer")
	case c.Layer != nil:
		c.Build = c.forward
	}
	if (c.Forward == nil) != (c.Backward == nil) {
		return nil, errors.New("verify: one of Forward and Backward is missing")
	}
	var roads []*results
	var layers []*layerForm
	for _, f := range forms() {
		l, err := c.form(f)
		if err != nil {
			return nil, err
		}
		a, err := l.run()
		if err != nil {
			return nil, errors.Wrap(err, f.name)
		}
		layers, roads = append(layers, l), append(roads, a)
	}
	compare := c.byHand
	if c.Forward == nil {
		compare = c.byDifferences
	}
	r, err := compare(layers[0], roads)
	if err == nil {
		err = c.checkCausal(r, layers)
	}
	return r, err
}

func (c Case) byHand(l *layerForm, roads []*results) (*Report, error) {
	f := func(z hand.Parameters[complex128]) (complex128, error) {
		y := c.Forward(z)
		if y.Err == nil && (y.Rows != l.delta.Rows || y.Cols != l.delta.Cols) {
			return 0, errors.Errorf("verify: by hand the result is (%d, %d), the layer's is (%d, %d)",
				y.Rows, y.Cols, l.delta.Rows, l.delta.Cols)
		}
		return number(y.Mul(hand.Lift[complex128](l.delta)).SumTokens().SumFeatures())
	}
	loss, err := f(lifted(l.numbers))
	if err != nil {
		return nil, err
	}
	g := slices.DeleteFunc(c.Backward(l.numbers, l.delta), func(e hand.Gradient[float64]) bool {
		return slices.Contains(c.Frozen, e.Name)
	})
	if err := g.Err(); err != nil {
		return nil, err
	}
	want := g.Parameters()
	r := &Report{
		ByHand: true, Loss: real(loss), Rows: caseRows(g),
		Tolerance: Tolerance, ToleranceFloat32: toleranceLayer32,
	}
	if err := r.compare(roads, want); err != nil {
		return nil, err
	}
	if err := r.complexStep(unwatched(), f, l.numbers, want, defaultSampling(), fixture.Seed); err != nil {
		return nil, err
	}
	return r.done(want, roads), nil
}

func (c Case) byDifferences(l *layerForm, roads []*results) (*Report, error) {
	return byDifferences(unwatched(), roads, l.loss, l.wrt, toleranceLayer32, defaultSampling(), fixture.Seed)
}

func (r *Report) done(want hand.Parameters[float64], roads []*results) *Report {
	r.finish()
	if !r.OK() {
		r.First = firstGradient(r, want, roads)
	}
	return r
}
