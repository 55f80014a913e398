package verify

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pkg/errors"
)

// Run compares the gradients of the layer. It returns an error if the layer cannot be built or evaluated, and one that
// wraps ErrCoverage if the gradients do not cover the same parameters with the same shapes. Disagreements are in the
// Report.
func (c Case) Run() (*Report, error) { return c.sampled(defaultSampling()) }

// RunSample is like Run, but the roads that differentiate by one entry at a time, the complex step and central
// differences, take only the few largest entries of every row of the Report and the same number of random ones. The
// complex step also takes a random direction, which contains every entry.
func (c Case) RunSample(few int) (*Report, error) {
	if few < 0 {
		return nil, errors.Errorf("case %s: few: got %d, want at least 0", c.Name, few)
	}
	return c.sampled(sampling{few: few})
}

func (c Case) sampled(look sampling) (*Report, error) {
	var r *Report
	err := guarded(func() (err error) {
		if r, err = c.run(look); err == nil {
			err = c.compareSteps(r)
		}
		return err
	})
	if err != nil {
		return nil, errors.Wrapf(err, "case %s", c.Name)
	}
	return r, nil
}

func (c Case) run(look sampling) (*Report, error) {
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
	r, err := compare(layers[0], roads, look)
	if err == nil {
		err = c.checkCausal(r, layers)
	}
	return r, err
}

func (c Case) byHand(l *layerForm, roads []*results, look sampling) (*Report, error) {
	f := func(z hand.Parameters[complex128]) (complex128, error) {
		y := c.Forward(z)
		if y.Err == nil && (y.Rows != l.delta.Rows || y.Cols != l.delta.Cols) {
			return 0, errors.Errorf("verify: by hand the result is (%d, %d), the layer's is (%d, %d)",
				y.Rows, y.Cols, l.delta.Rows, l.delta.Cols)
		}
		return number(y.Mul(hand.Lift[complex128](l.delta)).SumTokens().Sum())
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
	if err := r.exact(c.identity(l)); err != nil {
		return nil, err
	}
	if err := r.complexStep(unwatched(), f, l.numbers, want, look, fixture.Seed); err != nil {
		return nil, err
	}
	return r.done(want, roads), nil
}

func (c Case) byDifferences(l *layerForm, roads []*results, look sampling) (*Report, error) {
	return byDifferences(unwatched(), roads, l.loss, l.wrt, toleranceLayer32, look, fixture.Seed)
}
