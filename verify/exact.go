package verify

import (
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/identity"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
	"github.com/pkg/errors"
)

// Exact is the result of the exact road: the derivative of the forward pass by hand and the backward pass by hand,
// computed in a finite field, where they are equal to the last bit or different.
type Exact struct {
	Draws     int     // random points
	Differing int     // entries of gradients that differ in some draw
	Bound     float64 // log₂ of a bound on the probability that one draw misses a wrong gradient
}

// ErrReadsData is wrapped by the error for a Case whose formulas the exact road cannot follow, because they read the
// entries of a matrix or compute with numbers of their own. The error names the function.
var ErrReadsData = hand.ErrReadsData

// ErrUndefined is wrapped by the error for a point at which the formulas have no value or no derivative, because they
// divide by 0. An example is LayerNormSigma of a token whose features are all equal (erratum C3), as after a ReLU that
// makes all of them 0. The real numbers of the parameters decide it: with another seed, NewModel returns a model at
// another point.
var ErrUndefined = identity.ErrUndefined

// Exact compares the formulas of the Case at n random points of the given seed. It needs Forward and Backward.
func (c Case) Exact(n int, seed uint64) (e Exact, err error) {
	if c.Forward == nil || c.Backward == nil {
		return e, errors.Errorf("case %s: no formulas by hand", c.Name)
	}
	err = guarded(func() error {
		if c.Layer != nil {
			c.Build = c.forward
		}
		l, err := c.form(reference)
		if err == nil {
			e, err = draws(c.identity(l), n, seed)
		}
		return err
	})
	return e, errors.Wrapf(err, "case %s", c.Name)
}

// Exact compares the formulas of the model at n random points of the given seed.
func (m Model) Exact(n int, seed uint64) (Exact, error) { return exactSubject(m, n, seed) }

// Exact compares the formulas of the model at n random points of the given seed.
func (m Pairs) Exact(n int, seed uint64) (Exact, error) { return exactSubject(m, n, seed) }

func exactSubject(m Subject, n int, seed uint64) (e Exact, err error) {
	err = guarded(func() error {
		s, err := m.subject()
		if err != nil {
			return err
		}
		b, err := s.build(reference)
		if err != nil {
			return err
		}
		plan, err := s.plan(b.graph)
		if err == nil {
			e, err = draws(s.identity(plan), n, seed)
		}
		return err
	})
	return e, err
}

// mostDraws is the largest number of points of one call.
const mostDraws = 100_000

func draws(f identity.Formula, n int, seed uint64) (e Exact, err error) {
	if n < 1 || n > mostDraws {
		return e, errors.Errorf("verify: exact road: got %d points, want 1 … %d", n, mostDraws)
	}
	for e.Draws = range n {
		differing, bound, err := f.Differing(seed + uint64(e.Draws))
		if err != nil {
			return e, err
		}
		if e.Draws == 0 || bound > e.Bound {
			e.Bound = bound
		}
		for _, list := range differing {
			e.Differing += len(list)
		}
	}
	e.Draws = n
	return e, nil
}

// identity returns the two passes of the Case at the parameters of the layer.
func (c Case) identity(l *layerForm) identity.Formula {
	return identity.Formula{
		At: l.numbers, Frozen: l.frozen, Forward: c.Forward,
		Backward: func(p hand.Parameters[float64], delta hand.Matrix[float64]) (hand.Gradients[float64], error) {
			return c.Backward(p, delta), nil
		},
	}
}

// identity returns the two passes of the model.
func (s subject) identity(plan variants.Plan) identity.Formula {
	return identity.Formula{
		At: s.parameters, Loss: true,
		Forward: func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
			m, err := variants.Model(plan, p)
			if err != nil {
				return hand.Matrix[complex128]{Err: err}
			}
			return m.Forward(s.text)
		},
		Backward: func(p hand.Parameters[float64], _ hand.Matrix[float64]) (hand.Gradients[float64], error) {
			m, err := variants.Model(plan, p)
			if err != nil {
				return nil, err
			}
			return m.Backward(s.text)
		},
	}
}

// exact compares the passes at one random point and puts the numbers of entries that differ in the rows.
func (r *Report) exact(f identity.Formula) error {
	differing, bound, err := f.Differing(fixture.Seed)
	if err != nil {
		return errors.Wrap(err, "exact road")
	}
	for i := range r.Rows {
		row, width := &r.Rows[i], f.At[r.Rows[i].parameter].Cols
		count := 0
		for _, at := range differing[row.parameter] {
			if at%width >= row.from && at%width < row.to {
				count++
			}
		}
		row.put(exactRoad, float64(count))
	}
	r.Bound = bound
	return nil
}
