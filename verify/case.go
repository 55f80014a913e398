package verify

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pkg/errors"
)

// Case checks one layer, in sizes of which no two are alike (Dims) and with random parameters: Σ y∘Δ for the result y
// of the layer and a random Δ, or y itself if it is a single number, differentiated by the input and by every
// parameter.
//
// With Forward and Backward the layer is held against these formulas by hand: by autodiff, by the kernels, and by the
// complex step of Forward. Without, autodiff is held against central differences of the reference graph and the kernels
// against autodiff; the Report says so.
type Case struct {
	ID     string // of the entry that it certifies
	Name   string
	Types  []string // of nn that it exercises
	Parts  []string // of a gpt.Config that it certifies, such as norm=layernorm
	Source string   // paper and equations

	// Build declares the layer at a site and applies it to x (B·T, d). The input has to matter.
	Build func(at nn.Site, x graph.Expr) graph.Expr

	// Layer, instead of Build, makes the layer whose Forward is applied to x, at a site that has positions. Of one that
	// is nn.Cached Step is compared with Forward, under a causal mask where it is given none.
	Layer func(at nn.Site) nn.Layer

	// Forward is the layer by hand and Backward its gradients, by the names of the parameters; "x" is the input. Give
	// both or neither.
	Forward  func(p hand.Parameters[complex128]) hand.Matrix[complex128]
	Backward func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64]

	// Bidirectional permits a token to see later tokens of its text, as in an encoder. Without it a layer that looks
	// ahead fails. A layer in which one text of the batch influences another fails in any case.
	Bidirectional bool

	Frozen []string // parameters that nothing is differentiated by

	// Dims are the sizes at the site. What is 0 is that of DefaultDims; a layer that needs another one, such as heads
	// in two groups, says so here.
	Dims nn.Dims
}

const input = "x" // the name of a layer's input

// Run compares. The error is of a layer that cannot be built or evaluated, or wraps ErrCoverage where the gradients do
// not cover the same parameters with the same shapes; disagreements are in the Report.
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

// guarded makes a panic in what a caller has written, such as Build, an error.
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
			return 0, errors.Errorf("verify: by hand the result is (%d, %d), the layer's is (%d, %d)", y.Rows, y.Cols, l.delta.Rows, l.delta.Cols)
		}
		return number(y.Mul(hand.Lift[complex128](l.delta)).SumTokens().SumFeatures())
	}
	loss, err := f(lifted(l.numbers))
	if err != nil {
		return nil, err
	}
	g := slices.DeleteFunc(c.Backward(l.numbers, l.delta), func(e hand.Gradient[float64]) bool { return slices.Contains(c.Frozen, e.Name) })
	if err := g.Err(); err != nil {
		return nil, err
	}
	want := g.Parameters()
	r := &Report{ByHand: true, Loss: real(loss), Tolerance: Tolerance, ToleranceFloat32: toleranceLayer32, Rows: caseRows(g)}
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
