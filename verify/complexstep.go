package verify

import (
	"maps"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pkg/errors"
)

// The complex step (Squire and Trapp, 1998): for an analytic f, Im f(x + ih)/h = f'(x) up to terms in h². Nothing is
// subtracted, so h can be arbitrarily small. The method needs only the forward pass and no derivative.
const imaginaryStep = 1e-30

// Objective is a number computed from parameters.
type Objective func(hand.Parameters[complex128]) (complex128, error)

// ComplexStep differentiates f by every entry of every parameter.
func ComplexStep(f Objective, p hand.Parameters[float64]) (hand.Parameters[float64], error) {
	z, err := steps(f, p)
	if err != nil {
		return nil, err
	}
	g := hand.Parameters[float64]{}
	for name, m := range p {
		dm := hand.Zeros[float64](m.Rows, m.Cols)
		for i := range m.Data {
			d, err := stepAt(f, z, name, i)
			if err != nil {
				return nil, err
			}
			dm.Data[i] = d
		}
		g[name] = dm
	}
	return g, nil
}

// ComplexStepAt differentiates f by entry i (row by row) of one parameter.
func ComplexStepAt(f Objective, p hand.Parameters[float64], name string, i int) (float64, error) {
	z, err := steps(f, p)
	if err != nil {
		return 0, err
	}
	if n := len(p[name].Data); i < 0 || i >= n {
		return 0, errors.Errorf("complex step: %q, entry %d: the parameter has %d", name, i, n)
	}
	return stepAt(f, z, name, i)
}

// steps returns the parameters as complex numbers to step from, or an error if there is nothing to differentiate.
func steps(f Objective, p hand.Parameters[float64]) (hand.Parameters[complex128], error) {
	if f == nil {
		return nil, errors.New("complex step: got no objective")
	}
	if err := p.Check(); err != nil {
		return nil, errors.Wrap(err, "complex step")
	}
	return lifted(p), nil
}

// stepAt differentiates f at z by entry i of one parameter. It changes a copy, so other threads may use z at the same
// time.
func stepAt(f Objective, z hand.Parameters[complex128], name string, i int) (float64, error) {
	z = maps.Clone(z)
	m := z[name]
	m.Data = slices.Clone(m.Data)
	m.Data[i] += complex(0, imaginaryStep)
	z[name] = m
	y, err := f(z)
	return imag(y) / imaginaryStep, err
}

// ComplexStepAlong differentiates f along a direction, which is zero for parameters missing from it.
func ComplexStepAlong(f Objective, p, direction hand.Parameters[float64]) (float64, error) {
	z, err := steps(f, p)
	if err != nil {
		return 0, err
	}
	for name, d := range direction {
		if len(d.Data) != len(z[name].Data) {
			return 0, errors.Errorf("complex step: %q: a direction of %d numbers, the parameter has %d",
				name, len(d.Data), len(z[name].Data))
		}
		for i, v := range d.Data {
			z[name].Data[i] += complex(0, imaginaryStep*v)
		}
	}
	y, err := f(z)
	return imag(y) / imaginaryStep, err
}

// lifted returns the parameters as complex numbers.
func lifted(p hand.Parameters[float64]) hand.Parameters[complex128] {
	z := hand.Parameters[complex128]{}
	for name, m := range p {
		z[name] = hand.Lift[complex128](m)
	}
	return z
}

// number returns the entry of a (1, 1) matrix.
func number(m hand.Matrix[complex128]) (complex128, error) {
	if m.Err != nil {
		return 0, m.Err
	}
	return m.Data[0], nil
}
