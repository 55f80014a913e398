package hand

import (
	"errors"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// Number is the type of the numbers in a formula: float64 for values, complex128 for the complex step.
type Number interface{ float64 | complex128 }

// Matrix is a dense row-major matrix. Operations return new matrices and never panic: the first error is carried in Err
// through everything computed from it. Data holds Rows·Cols entries; NewMatrix and every operation check that.
//
// On the exact road, a matrix has entries of a finite field instead (NewExact). Formulas made of operations follow that
// road unchanged. A formula that reads Data finds NaN there, and the operation that receives its result returns an
// error.
type Matrix[T Number] struct {
	Rows, Cols int
	Data       []T
	Err        error

	exact *drawn // on the exact road
}

// Zeros returns the (rows, cols) matrix of zeros.
func Zeros[T Number](rows, cols int) Matrix[T] {
	if !possible(rows, cols) {
		return failed[T]("zeros (%d, %d)", rows, cols)
	}
	return Matrix[T]{Rows: rows, Cols: cols, Data: make([]T, rows*cols)}
}

// NewMatrix returns the (rows, cols) matrix with the given entries, row by row.
func NewMatrix[T Number](rows, cols int, data ...T) Matrix[T] {
	return Matrix[T]{Rows: rows, Cols: cols, Data: data}.sound()
}

// Lift returns x as a matrix over T, for the constants of a formula (masks).
func Lift[T Number](x Matrix[float64]) Matrix[T] {
	x = x.sound()
	out := Zeros[T](x.Rows, x.Cols)
	for i, v := range x.Data {
		out.Data[i] = number[T](v)
	}
	out.Err, out.exact = x.Err, x.exact
	return out
}

// Equal reports whether x and y have the same size, entries and error. A NaN differs from every number.
func (x Matrix[T]) Equal(y Matrix[T]) bool {
	return x.Rows == y.Rows && x.Cols == y.Cols && slices.Equal(x.Data, y.Data) && errors.Is(x.Err, y.Err)
}

// None reports whether x is the zero Matrix, which stands for an absent operand.
func (x Matrix[T]) None() bool {
	return x.Rows == 0 && x.Cols == 0 && len(x.Data) == 0 && x.Err == nil
}

// At returns the entry in row i and column j, or NaN if there is none.
func (x Matrix[T]) At(i, j int) T {
	if at := i*x.Cols + j; j >= 0 && j < x.Cols && at >= 0 && at < len(x.Data) {
		return x.Data[at]
	}
	return number[T](math.NaN())
}

// Columns returns the features [from, to) of every token.
func (x Matrix[T]) Columns(from, to int) Matrix[T] {
	if x = x.sound(); x.Err != nil {
		return x
	}
	if from < 0 || to < from || to > x.Cols {
		return failed[T]("columns %d to %d of (%d, %d)", from, to, x.Rows, x.Cols)
	}
	return Matrix[T]{
		Rows: x.Rows, Cols: to - from, Data: columns(x.Data, x.Cols, from, to),
		exact: x.exact.with(func(n []exact.Number) []exact.Number { return columns(n, x.Cols, from, to) }),
	}
}

// columns returns the columns [from, to) of entries in rows of the given width.
func columns[E any](entries []E, width, from, to int) []E {
	out := make([]E, 0, len(entries)/max(width, 1)*(to-from))
	for ; len(entries) > 0; entries = entries[width:] {
		out = append(out, entries[from:to]...)
	}
	return out
}

// Tokens returns the rows [from, to).
func (x Matrix[T]) Tokens(from, to int) Matrix[T] {
	if x = x.sound(); x.Err != nil {
		return x
	}
	if from < 0 || to < from || to > x.Rows {
		return failed[T]("tokens %d to %d of (%d, %d)", from, to, x.Rows, x.Cols)
	}
	return Matrix[T]{
		Rows: to - from, Cols: x.Cols, Data: x.Data[from*x.Cols : to*x.Cols],
		exact: x.exact.with(func(n []exact.Number) []exact.Number { return n[from*x.Cols : to*x.Cols] }),
	}
}

// Join returns the matrices, which have the same number of rows, side by side.
func Join[T Number](parts ...Matrix[T]) Matrix[T] {
	transposed := make([]Matrix[T], len(parts))
	for i, part := range parts {
		transposed[i] = part.Transpose()
	}
	return JoinTokens(transposed...).Transpose()
}

// JoinTokens returns the matrices, which have the same number of columns, below one another.
func JoinTokens[T Number](parts ...Matrix[T]) Matrix[T] {
	var out Matrix[T]
	for i, part := range parts {
		switch part = part.sound(); {
		case part.Err != nil:
			return part
		case i == 0:
			out.Cols = part.Cols
		case part.Cols != out.Cols:
			return failed[T]("join: %d columns below %d", part.Cols, out.Cols)
		}
		out.Rows += part.Rows
		out.Data = append(out.Data, part.Data...)
	}
	return out.below(parts)
}

// Transpose returns xᵗ.
func (x Matrix[T]) Transpose() Matrix[T] {
	if x = x.sound(); x.Err != nil {
		return x
	}
	return Matrix[T]{
		Rows: x.Cols, Cols: x.Rows, Data: transposed(x.Data, x.Rows, x.Cols),
		exact: x.exact.with(func(n []exact.Number) []exact.Number { return transposed(n, x.Rows, x.Cols) }),
	}
}

func transposed[E any](entries []E, rows, cols int) []E {
	out := make([]E, len(entries))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = entries[i*cols+j]
		}
	}
	return out
}

// addColumns returns x with y added to the features [from, to).
func (x Matrix[T]) addColumns(from, to int, y Matrix[T]) Matrix[T] {
	return Join(x.Columns(0, from), x.Columns(from, to).Add(y), x.Columns(to, x.Cols))
}
