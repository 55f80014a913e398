package hand

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// drawn holds the entries of a matrix on the exact road.
type drawn struct {
	draw    *exact.Draw
	numbers []exact.Number
}

// The operations of the exact road, beside those on float64 and complex128.
type (
	unary  func(d *exact.Draw, a exact.Number) exact.Number
	binary func(d *exact.Draw, a, b exact.Number) exact.Number
)

// NewExact returns a matrix of the exact road with the given entries, row by row. As a Matrix[float64] it is for
// formulas of gradients, as a Matrix[complex128] for formulas of values; both are dual numbers.
func NewExact[T Number](d *exact.Draw, rows, cols int, entries []exact.Number) Matrix[T] {
	if !possible(rows, cols) || len(entries) != rows*cols || !d.Made() {
		return failed[T]("exact matrix (%d, %d) from %d entries", rows, cols, len(entries))
	}
	out := Zeros[T](rows, cols)
	for i := range out.Data {
		out.Data[i] = number[T](math.NaN()) // for a formula that reads them
	}
	out.exact = &drawn{d, entries}
	return out
}

// Exact returns the entries of x in the given draw, or an error if x carries one. The entries of a matrix of ordinary
// numbers are constants.
func (x Matrix[T]) Exact(d *exact.Draw) ([]exact.Number, error) {
	switch x = x.sound(); {
	case x.Err != nil:
		return nil, x.Err
	case !d.Made():
		return nil, errors.New("hand: exact entries without a draw")
	case x.exact != nil:
		return x.exact.numbers, nil
	}
	out := make([]exact.Number, len(x.Data))
	for i, a := range x.Data {
		if math.IsNaN(realPart(a)) {
			return nil, fmt.Errorf("%w: %s", ErrReadsData, caller())
		}
		out[i] = d.Real(realPart(a))
	}
	return out, nil
}

// ErrReadsData is wrapped by the error for a formula that cannot be followed on the exact road: it reads the entries of
// a matrix itself, instead of applying operations.
var ErrReadsData = errors.New("hand: a formula reads entries, which the exact road cannot follow")

// caller returns the name of the innermost function outside this package.
func caller() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if !strings.Contains(frame.Function, "/verify/hand.") {
			return frame.Function
		}
		if !more {
			return "an unknown function"
		}
	}
}

// with returns f of the entries of x, or nil if x is nil.
func (x *drawn) with(f func([]exact.Number) []exact.Number) *drawn {
	if x == nil {
		return nil
	}
	return &drawn{x.draw, f(x.numbers)}
}

// emptied returns as many zeros.
func emptied(entries []exact.Number) []exact.Number { return make([]exact.Number, len(entries)) }

// drawOf returns the draw of the first matrix that has one.
func drawOf[T Number](list ...Matrix[T]) *exact.Draw {
	for _, x := range list {
		if x.exact != nil {
			return x.exact.draw
		}
	}
	return nil
}

// by returns the operation with the constant c, or nil if c was computed from Data.
func by(c float64, g binary) unary {
	if math.IsNaN(c) {
		return nil
	}
	return func(d *exact.Draw, a exact.Number) exact.Number { return g(d, a, d.Real(c)) }
}

func (x Matrix[T]) exactEach(g unary) Matrix[T] {
	if g == nil {
		return Matrix[T]{Err: fmt.Errorf("%w: %s", ErrReadsData, caller())}
	}
	d := x.exact.draw
	out := make([]exact.Number, len(x.exact.numbers))
	for i, a := range x.exact.numbers {
		out[i] = g(d, a)
	}
	return NewExact[T](d, x.Rows, x.Cols, out)
}

func (x Matrix[T]) exactCombine(y Matrix[T], rows, cols int, g binary) Matrix[T] {
	d := drawOf(x, y)
	xs, err := x.Exact(d)
	if err != nil {
		return Matrix[T]{Err: err}
	}
	ys, err := y.Exact(d)
	if err != nil {
		return Matrix[T]{Err: err}
	}
	if g == nil {
		return Matrix[T]{Err: fmt.Errorf("%w: %s", ErrReadsData, caller())}
	}
	out := make([]exact.Number, rows*cols)
	pairs(x, y, xs, ys, out, cols, func(a, b exact.Number) exact.Number { return g(d, a, b) })
	return NewExact[T](d, rows, cols, out)
}

func (x Matrix[T]) exactProduct(y Matrix[T]) Matrix[T] {
	d := drawOf(x, y)
	xs, err := x.Exact(d)
	if err != nil {
		return Matrix[T]{Err: err}
	}
	ys, err := y.Exact(d)
	if err != nil {
		return Matrix[T]{Err: err}
	}
	return NewExact[T](d, x.Rows, y.Cols, exact.Product(xs, ys, x.Rows, x.Cols, y.Cols))
}

// exactSum returns the sums of the entries of x: entry i is added to the sum at(i) of n. It returns nil for a matrix of
// ordinary numbers.
func (x Matrix[T]) exactSum(n int, at func(i int) int) *drawn {
	return x.exact.with(func(entries []exact.Number) []exact.Number {
		out := make([]exact.Number, n)
		for i, a := range entries {
			out[at(i)] = x.exact.draw.Add(out[at(i)], a)
		}
		return out
	})
}

func (x Matrix[T]) exactRowMax() Matrix[T] {
	d, out := x.exact.draw, make([]exact.Number, x.Rows)
	for i := range out {
		largest := exact.Number{Real: math.Inf(-1)}
		for _, a := range x.exact.numbers[i*x.Cols:][:x.Cols] {
			if exact.Less(largest, a) {
				largest = a
			}
		}
		out[i] = d.Largest(largest)
	}
	return NewExact[T](d, x.Rows, 1, out)
}

// below gives x, the parts below one another, their entries on the exact road.
func (x Matrix[T]) below(parts []Matrix[T]) Matrix[T] {
	d := drawOf(parts...)
	if d == nil {
		return x
	}
	var entries []exact.Number
	for _, part := range parts {
		own, err := part.Exact(d)
		if err != nil {
			return Matrix[T]{Err: err}
		}
		entries = append(entries, own...)
	}
	return NewExact[T](d, x.Rows, x.Cols, entries)
}

// reshaped returns x with the same entries in rows of another width.
func (x Matrix[T]) reshaped(rows, cols int) Matrix[T] {
	x.Rows, x.Cols = rows, cols
	return x
}

// Function is a function of one variable, for formulas that need one of their own.
type Function struct {
	Name      string
	Of64      func(x float64) float64
	OfComplex func(x complex128) complex128 // analytic, for the complex step

	// Differential returns the derivative at x, given the value y of the function there, such as 1 − y² for tanh. On
	// the exact road nothing else is known of the function: its values are random there.
	Differential func(x, y Matrix[float64]) Matrix[float64]
}

// Apply returns f(x), entry by entry.
func (x Matrix[T]) Apply(f Function) Matrix[T] {
	switch x = x.sound(); {
	case f.Name == "" || f.Of64 == nil || f.OfComplex == nil || f.Differential == nil:
		return Matrix[T]{Err: fmt.Errorf("hand: function %q: want a name, Of64, OfComplex and Differential", f.Name)}
	case x.exact == nil:
		return x.apply(f.Of64, f.OfComplex, nil)
	}
	d := x.exact.draw
	y := x.exactEach(func(d *exact.Draw, a exact.Number) exact.Number {
		return d.Function(f.Name, a.Constant(), exact.Number{}, f.Of64(a.Real))
	})
	at := func(m Matrix[T]) Matrix[float64] { return NewExact[float64](d, m.Rows, m.Cols, m.exact.numbers) }
	plain := x.exactEach(func(_ *exact.Draw, a exact.Number) exact.Number { return a.Constant() })
	slope, err := f.Differential(at(plain), at(y)).Exact(d)
	if err == nil && len(slope) != len(x.Data) {
		err = failed[T]("function %q: %d derivatives at %d numbers", f.Name, len(slope), len(x.Data)).Err
	}
	if err != nil {
		return Matrix[T]{Err: err}
	}
	out := make([]exact.Number, len(slope))
	for i, a := range x.exact.numbers {
		out[i] = d.Function(f.Name, a, slope[i], f.Of64(a.Real))
	}
	return NewExact[T](d, x.Rows, x.Cols, out)
}
