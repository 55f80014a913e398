package verify

import (
	"context"
	"runtime"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
	"github.com/pkg/errors"
)

// Check derives every gradient of a model by hand and compares it, parameter by parameter, with five others: Gorgonia's
// differentiation of the reference form, the kernels' backward operations in float64 and in float32, the complex step
// of the forward by hand, which uses no derivative, and the derivative of the forward by hand in a finite field, where
// nothing is rounded. The complex step takes every entry of up to 5,000 parameters. Beyond that it takes the largest
// entries of every parameter, some random ones, and one random direction over all of them.
//
// If a part of the model has no formula here, such as a user-defined attention, Check compares it like a Case without
// formulas: autodiff with central differences, at the same entries, and the kernels with autodiff. Report.ByHand and
// Report.Roads state which.
//
// Check returns an error if the model cannot be built or evaluated, and one that wraps ErrCoverage if the gradients do
// not cover the same parameters with the same shapes. Disagreements are in the Report.
func Check(m Subject) (*Report, error) { return CheckContext(context.Background(), m, nil) }

// CheckContext is Check with a context. If ctx ends, it returns the cause. It calls progress, unless it is nil, after
// each derivative that is taken one entry at a time, with the number done and the total. The entries are shared by
// GOMAXPROCS threads; the Report does not depend on their number.
func CheckContext(ctx context.Context, m Subject, progress func(done, total int)) (*Report, error) {
	if m == nil {
		return nil, errors.New("verify: Check got nil, want a Model or Pairs")
	}
	var r *Report
	err := guarded(func() error {
		s, err := m.subject()
		if err != nil {
			return err
		}
		r, err = check(work{ctx, runtime.GOMAXPROCS(0), progress}, s, defaultSampling())
		return err
	})
	return r, err
}

func check(w work, s subject, look sampling) (*Report, error) {
	plan, roads, err := evaluate(w, s)
	switch {
	case errors.Is(err, variants.ErrNoFormula):
		return checkByDifferences(w, s, roads, look)
	case err != nil:
		return nil, err
	}
	return compare(w, s, plan, roads, look)
}

// evaluate describes the model to the formulas and computes it in every form of the library. If the formulas lack a
// part, it returns the roads and an error that wraps variants.ErrNoFormula.
func evaluate(w work, s subject) (plan variants.Plan, roads []*results, err error) {
	var none error
	for _, f := range s.forms() {
		if err := w.ended(); err != nil {
			return plan, nil, err
		}
		b, err := s.build(f)
		if err != nil {
			return plan, nil, err
		}
		if plan, err = s.plan(b.graph); err != nil {
			return plan, nil, err
		}
		if _, err := variants.Model(plan, s.parameters); errors.Is(err, variants.ErrNoFormula) {
			none, b.places = err, nil // there is no Δ to compare
		} else if err != nil {
			return plan, nil, err
		}
		r, err := b.run(f, s.parameters)
		if err != nil {
			return plan, nil, errors.Wrap(err, f.name)
		}
		roads = append(roads, r)
	}
	return plan, roads, none
}

// checkByDifferences checks a model with a part that has no formula.
func checkByDifferences(w work, s subject, roads []*results, look sampling) (*Report, error) {
	b, err := s.build(reference)
	if err != nil {
		return nil, err
	}
	if err := b.fill(s.parameters); err != nil {
		return nil, err
	}
	return byDifferences(w, roads, b.loss, b.graph.Params(), ToleranceFloat32, look, s.seed)
}

// compare compares the roads and the complex step with the gradients by hand.
func compare(w work, s subject, plan variants.Plan, roads []*results, look sampling) (*Report, error) {
	model, err := variants.Model(plan, s.parameters)
	if err != nil {
		return nil, err
	}
	loss := model.Forward(s.text)
	if loss.Err != nil {
		return nil, loss.Err
	}
	g, err := model.Backward(s.text)
	if err != nil {
		return nil, err
	}
	want := g.Parameters()
	r := &Report{
		ByHand: true, Loss: loss.Data[0], Rows: rows(g),
		Tolerance: Tolerance, ToleranceFloat32: ToleranceFloat32,
	}
	r.rounding(roads)
	if err := r.compare(roads, want); err != nil {
		return nil, err
	}
	if err := r.exact(s.identity(plan)); err != nil {
		return nil, err
	}
	build, err := variants.Builder[complex128](plan)
	if err != nil {
		return nil, err
	}
	objective := func(p hand.Parameters[complex128]) (complex128, error) {
		m, err := build(p)
		if err != nil {
			return 0, err
		}
		return number(m.Forward(s.text))
	}
	if err := r.complexStep(w, objective, s.parameters, want, look, s.seed); err != nil {
		return nil, err
	}
	r.finish()
	if !r.OK() {
		r.First = firstWrong(s, r, g, roads)
	}
	return r, nil
}
