package verify

import (
	"fmt"
	"math"

	"github.com/pkg/errors"
)

// What "equal" means for the kernels in float32.
const (
	ToleranceFloat32 = 1e-3 // for a whole model
	toleranceLayer32 = 2e-5 // for a layer alone
)

// Check works out every gradient of m by hand and compares it, parameter by parameter, with four witnesses: Gorgonia's
// differentiation of the spelled graph, the kernels' backward operations in float64 and in float32, and the complex step
// of the forward by hand, which knows no derivative: entry by entry up to 5,000 parameters, beyond that at the entries of
// every parameter that are largest, at some random ones, and along one random direction over everything.
//
// The error is of a model that cannot be built or evaluated, or, wrapping ErrCoverage, of gradients that do not cover the
// same parameters with the same shapes; disagreements are in the Report.
func Check(m Model) (*Report, error) {
	h, witnesses, err := ask(m)
	if err != nil {
		return nil, err
	}
	return certify(m, h, witnesses, usualSampling())
}

// ask describes the model to the formulas and computes it in every form of the library.
func ask(m Model) (h GPT, witnesses []*answers, err error) {
	if h, err = m.hand(); err != nil {
		return h, nil, err
	}
	for _, f := range forms() {
		b, err := build(m, m.batch(), f)
		if err != nil {
			return h, nil, err
		}
		a, err := b.run(m)
		if err != nil {
			return h, nil, errors.Wrap(err, f.name)
		}
		a.form = f
		witnesses = append(witnesses, a)
		h.Dropout = b.dropout(m)
		if err := b.draw(m, &h); err != nil {
			return h, nil, err
		}
	}
	return h, witnesses, nil
}

// certify compares the witnesses and the complex step with the gradients by hand.
func certify(m Model, h GPT, witnesses []*answers, look sampling) (*Report, error) {
	a, err := GPTForward(h, m.Parameters, m.Tokens, m.Targets)
	if err != nil {
		return nil, err
	}
	g, err := GPTBackward(h, m.Parameters, m.Tokens, m.Targets, a)
	if err != nil {
		return nil, err
	}
	r := &Report{ByHand: true, Loss: a.Loss.Data[0], Tolerance: Tolerance, ToleranceFloat32: ToleranceFloat32, Rows: m.rows(g.Parameters)}
	if err := r.hear(witnesses, g.Parameters); err != nil {
		return nil, err
	}
	if err := r.complexStep(h.Objective(m.Tokens, m.Targets), m.Parameters, g.Parameters, look, m.Seed); err != nil {
		return nil, err
	}
	r.finish()
	if !r.OK() {
		r.First = firstWrong(m, r, g, witnesses)
	}
	return r, nil
}

// hear compares what the witnesses say with the reference, and looks for holes first.
func (r *Report) hear(witnesses []*answers, want Parameters[float64]) error {
	if err := r.partition(want); err != nil {
		return err
	}
	if math.IsNaN(r.Loss) || math.IsInf(r.Loss, 0) {
		return errors.Errorf("verify: the loss is %v", r.Loss)
	}
	largest := Largest(want)
	for i := range r.Rows {
		row := &r.Rows[i]
		part := row.part(want)
		row.Shape, row.Count, row.Norm = [2]int{part.Rows, part.Cols}, part.Rows*part.Cols, length(part)
		if math.IsNaN(row.Norm) || math.IsInf(row.Norm, 0) {
			return errors.Errorf("verify: %s: the gradient has length %v", row.Name, row.Norm)
		}
		r.Parameters += row.Count
		row.nonzero = row.Zero && !StructuralZero(part, largest)
	}
	for _, w := range witnesses {
		r.loss(w)
		if _, err := Compare(w.grads, want); err != nil {
			return errors.Wrap(err, w.form.name)
		}
		for i := range r.Rows {
			row := &r.Rows[i]
			got := row.part(w.grads)
			row.put(w.form.name, row.difference(got, row.part(want), largest).Distance)
			if row.Zero && w.form.wide && !StructuralZero(got, largest) {
				row.nonzero = true
			}
		}
	}
	return nil
}

// partition makes sure that the rows hold every column of every parameter once.
func (r *Report) partition(want Parameters[float64]) error {
	next := map[string]int{}
	for _, row := range r.Rows {
		if row.from != next[row.parameter] || row.to <= row.from {
			return errors.Wrapf(ErrCoverage, "%s: compares columns %d to %d, want from %d", row.Name, row.from, row.to, next[row.parameter])
		}
		next[row.parameter] = row.to
	}
	for name, g := range want {
		if next[name] != g.Cols {
			return errors.Wrapf(ErrCoverage, "%s: compared %d columns, want %d", name, next[name], g.Cols)
		}
	}
	return nil
}

// loss compares the value of the loss itself.
func (r *Report) loss(w *answers) {
	tolerance := Tolerance
	if !w.form.wide {
		tolerance = r.ToleranceFloat32
	}
	d := math.Abs(w.loss-r.Loss) / max(1, math.Abs(r.Loss))
	if !(d <= tolerance) {
		r.Failures = append(r.Failures, fmt.Sprintf("%s: the loss is %v, want %v", w.form.name, w.loss, r.Loss))
	}
}

// finish says what failed and what is worst.
func (r *Report) finish() {
	for _, row := range r.Rows {
		r.Failures = append(r.Failures, r.failures(row)...)
		r.Worst = max(r.Worst, row.Autodiff, row.Kernels, row.Complex)
		r.WorstFloat32 = max(r.WorstFloat32, row.Float32)
		if !(max(row.Autodiff, row.Kernels, row.Complex) <= Suspicion) {
			r.Suspicious = append(r.Suspicious, row.Name)
		}
	}
}
