// Package identity compares a backward pass by hand with the derivative of its forward pass without rounding, in a
// finite field (verify/internal/exact). For a random direction v of the parameters and a random Δ at the result,
//
//	⟨Δ, J v⟩ = ⟨Jᵗ Δ, v⟩
//
// where dual numbers give J v by the forward pass and the backward pass gives Jᵗ Δ. The two are equal to the last bit,
// or a gradient is wrong: a false identity holds at a random point with a probability of at most its degree divided by
// 2⁶¹ − 1. No layer of the library takes part.
package identity

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// Formula is a layer or a model by hand.
type Formula struct {
	// At holds the real values of the parameters. They decide every comparison, and the numbers drawn have their sizes.
	At     hand.Parameters[float64]
	Frozen []string // parameters without a gradient

	// Forward returns the result, and Backward the gradients of Σ Δ ∘ result for a Δ of its shape.
	Forward  func(p hand.Parameters[complex128]) hand.Matrix[complex128]
	Backward func(p hand.Parameters[float64], delta hand.Matrix[float64]) (hand.Gradients[float64], error)

	Loss bool // the result is a number, of which Backward takes Δ = 1
}

// point is one choice of all numbers.
type point struct {
	Formula
	draw   *exact.Draw
	values map[string][]exact.Number
	delta  []exact.Number // drawn with the first result
	rows   int
}

// Holds reports whether the passes agree at one random point, and log₂ of a bound on the probability that they do
// although a gradient is wrong.
func (f Formula) Holds(seed uint64) (equal bool, bound float64, err error) {
	differing, bound, err := f.draw(seed, false)
	return len(differing) == 0, bound, err
}

// Differing returns the entries of gradients that differ at one random point, by parameter, and the bound of Holds.
// Of a parameter with more than 200 entries, it looks at 200.
func (f Formula) Differing(seed uint64) (entries map[string][]int, bound float64, err error) {
	return f.draw(seed, true)
}

// draw compares the passes. Without search, a difference has an entry that stands for all.
func (f Formula) draw(seed uint64, search bool) (differing map[string][]int, bound float64, err error) {
	p, err := f.point(seed)
	if err != nil {
		return nil, 0, err
	}
	v := p.direction()
	left, degree, err := p.along(v)
	if err != nil {
		return nil, 0, err
	}
	g, err := p.gradients(p.values)
	if err != nil {
		return nil, 0, err
	}
	right, more := p.inner(g, v)
	bound = p.draw.Bound(max(degree, more))
	differing = g.nonzero()
	switch {
	case left.Value == right.Value:
	case search:
		err = p.search(g, differing)
	default:
		differing[""] = []int{0}
	}
	return differing, bound, err
}

// point draws the numbers of the parameters.
func (f Formula) point(seed uint64) (*point, error) {
	p := &point{Formula: f, draw: exact.NewDraw(seed), values: map[string][]exact.Number{}}
	for _, name := range slices.Sorted(maps.Keys(f.At)) {
		if err := f.At[name].Err; err != nil {
			return nil, err
		}
		numbers := make([]exact.Number, len(f.At[name].Data))
		for i, real := range f.At[name].Data {
			numbers[i] = p.draw.Variable(real)
		}
		p.values[name] = numbers
	}
	return p, nil
}

// forward computes the result, whose entries must be numbers, and draws Δ the first time.
func (p *point) forward(values map[string][]exact.Number) (y hand.Matrix[complex128], n []exact.Number, err error) {
	if y = p.Forward(matrices[complex128](p, values)); y.Err == nil {
		n, err = y.Exact(p.draw)
	}
	if err = cmp.Or(y.Err, err); err != nil {
		return y, nil, fmt.Errorf("forward: %w", err)
	}
	if err = finite(n, y.Cols); err != nil {
		return y, nil, fmt.Errorf("forward: %w", err)
	}
	for p.rows = y.Rows; len(p.delta) < len(n); {
		p.delta = append(p.delta, p.draw.Variable(0.5))
	}
	if p.Loss {
		p.delta = []exact.Number{p.draw.Real(1)}
	}
	return y, n, nil
}

// ErrUndefined is wrapped by the error for a point at which a formula has no value or no derivative.
var ErrUndefined = errors.New("the formulas have no value or no derivative at this point")

// finite returns ErrUndefined unless all entries are numbers: none was divided by 0.
func finite(entries []exact.Number, cols int) error {
	for i, a := range entries {
		if math.IsNaN(a.Real) || math.IsInf(a.Real, 0) {
			return fmt.Errorf("row %d, column %d is %v: %w", i/cols, i%cols, a.Real, ErrUndefined)
		}
	}
	return nil
}

// matrices returns the parameters with the given entries.
func matrices[T hand.Number](p *point, values map[string][]exact.Number) hand.Parameters[T] {
	out := hand.Parameters[T]{}
	for name, numbers := range values {
		out[name] = hand.NewExact[T](p.draw, p.At[name].Rows, p.At[name].Cols, numbers)
	}
	return out
}

// gradients holds the gradients of the backward pass by parameter, entry by entry, and the entries of structural zeros.
type gradients struct {
	entries map[string][]exact.Number
	zeros   map[string][]int
}

// gradients computes the backward pass.
func (p *point) gradients(values map[string][]exact.Number) (out gradients, err error) {
	delta := hand.NewExact[float64](p.draw, p.rows, len(p.delta)/max(p.rows, 1), p.delta)
	g, err := p.Backward(matrices[float64](p, values), delta)
	if err = cmp.Or(err, g.Err()); err != nil {
		return out, fmt.Errorf("backward: %w", err)
	}
	out = gradients{map[string][]exact.Number{}, map[string][]int{}}
	for name, m := range g.Parameters() {
		at, ok := p.At[name]
		switch {
		case slices.Contains(p.Frozen, name):
			continue
		case !ok || m.Rows != at.Rows || m.Cols != at.Cols:
			return out, fmt.Errorf("backward: %s: the gradient is (%d, %d), the parameter (%d, %d)",
				name, m.Rows, m.Cols, at.Rows, at.Cols)
		}
		if out.entries[name], err = m.Exact(p.draw); err != nil {
			return out, fmt.Errorf("backward: %s: %w", name, err)
		}
		if err := finite(out.entries[name], m.Cols); err != nil {
			return out, fmt.Errorf("backward: %s: %w", name, err)
		}
	}
	next := map[string]int{} // first column of the next part of a parameter
	for _, e := range g {
		if e.Delta || slices.Contains(p.Frozen, e.Name) {
			continue
		}
		for i := range e.Value.Rows * e.Value.Cols {
			if e.Zero {
				at := i/e.Value.Cols*p.At[e.Name].Cols + next[e.Name] + i%e.Value.Cols
				out.zeros[e.Name] = append(out.zeros[e.Name], at)
			}
		}
		if e.Part != "" {
			next[e.Name] += e.Value.Cols
		}
	}
	return out, nil
}
