package hand

import "github.com/pedestrian-ml/pedestrian/verify/internal/exact"

// MatMul returns the matrix product xy.
func (x Matrix[T]) MatMul(y Matrix[T]) Matrix[T] {
	switch x, y = x.sound(), y.sound(); {
	case x.Err != nil:
		return x
	case y.Err != nil:
		return y
	case x.Cols != y.Rows:
		return failed[T]("matmul (%d, %d), (%d, %d)", x.Rows, x.Cols, y.Rows, y.Cols)
	case !possible(x.Rows, y.Cols):
		return Zeros[T](x.Rows, y.Cols)
	case x.exact != nil || y.exact != nil:
		return x.exactProduct(y)
	}
	return Matrix[T]{Rows: x.Rows, Cols: y.Cols, Data: product(x.Data, y.Data, x.Rows, x.Cols, y.Cols)}
}

// Add, Sub, Mul and Div work entry by entry. A row (1, d), a column (n, 1) or a single number (1, 1) is repeated to the
// shape of the other operand.

// Add returns x + y.
func (x Matrix[T]) Add(y Matrix[T]) Matrix[T] {
	return x.combine("add", y, func(a, b T) T { return a + b }, (*exact.Draw).Add)
}

// plus returns x + y for an optional bias or mask y, and x if y is absent.
func (x Matrix[T]) plus(y Matrix[T]) Matrix[T] {
	if y.None() {
		return x
	}
	return x.Add(y)
}

// Sub returns x − y.
func (x Matrix[T]) Sub(y Matrix[T]) Matrix[T] {
	return x.combine("sub", y, func(a, b T) T { return a - b }, (*exact.Draw).Sub)
}

// Mul returns x ∘ y.
func (x Matrix[T]) Mul(y Matrix[T]) Matrix[T] {
	return x.combine("mul", y, func(a, b T) T { return a * b }, (*exact.Draw).Mul)
}

// Div returns x / y.
func (x Matrix[T]) Div(y Matrix[T]) Matrix[T] {
	return x.combine("div", y, func(a, b T) T { return a / b }, (*exact.Draw).Div)
}

// combine applies f to every pair of entries or, on the exact road, g.
func (x Matrix[T]) combine(op string, y Matrix[T], f func(a, b T) T, g binary) Matrix[T] {
	x, y = x.sound(), y.sound()
	rows, cols := max(x.Rows, y.Rows), max(x.Cols, y.Cols)
	switch {
	case x.Err != nil:
		return x
	case y.Err != nil:
		return y
	case !x.broadcasts(rows, cols) || !y.broadcasts(rows, cols):
		return failed[T]("%s (%d, %d), (%d, %d)", op, x.Rows, x.Cols, y.Rows, y.Cols)
	case x.exact != nil || y.exact != nil:
		return x.exactCombine(y, rows, cols, g)
	}
	out := Zeros[T](rows, cols)
	pairs(x, y, x.Data, y.Data, out.Data, cols, f)
	return out
}

// pairs applies f to the entries of x and y, repeated to rows of the given width.
func pairs[T Number, E any](x, y Matrix[T], xs, ys, out []E, cols int, f func(a, b E) E) {
	xi, xj := x.strides()
	yi, yj := y.strides()
	for i := 0; len(out) > 0; i, out = i+1, out[cols:] {
		row, a, b := out[:cols], xs[i*xi:], ys[i*yi:]
		for j := range row {
			row[j] = f(a[j*xj], b[j*yj])
		}
	}
}

// strides returns the distances of the rows and of the columns of x in Data. A size of 1 has stride 0, which repeats
// it.
func (x Matrix[T]) strides() (i, j int) {
	if x.Rows > 1 {
		i = x.Cols
	}
	if x.Cols > 1 {
		j = 1
	}
	return i, j
}

func (x Matrix[T]) broadcasts(rows, cols int) bool {
	return (x.Rows == rows || x.Rows == 1) && (x.Cols == cols || x.Cols == 1)
}

// Scale returns cx.
func (x Matrix[T]) Scale(c float64) Matrix[T] {
	factor := number[T](c)
	return x.each(func(a T) T { return factor * a }, by(c, (*exact.Draw).Mul))
}

// Shift returns x + c.
func (x Matrix[T]) Shift(c float64) Matrix[T] {
	term := number[T](c)
	return x.each(func(a T) T { return a + term }, by(c, (*exact.Draw).Add))
}

// Square returns x ∘ x.
func (x Matrix[T]) Square() Matrix[T] { return x.Mul(x) }

// SumTokens returns the sum of the rows: (n, d) → (1, d).
func (x Matrix[T]) SumTokens() Matrix[T] {
	x = x.sound()
	out := Zeros[T](1, x.Cols)
	for i, a := range x.Data {
		out.Data[i%x.Cols] += a
	}
	out.Err, out.exact = x.Err, x.exactSum(x.Cols, func(i int) int { return i % x.Cols })
	return out
}

// Sum returns the sum of the columns: (n, d) → (n, 1).
func (x Matrix[T]) Sum() Matrix[T] {
	x = x.sound()
	out := Zeros[T](x.Rows, 1)
	for i, a := range x.Data {
		out.Data[i/x.Cols] += a
	}
	out.Err, out.exact = x.Err, x.exactSum(x.Rows, func(i int) int { return i / x.Cols })
	return out
}

// Mean returns the mean of the features of each token: (n, d) → (n, 1).
func (x Matrix[T]) Mean() Matrix[T] { return x.Sum().Scale(1 / float64(x.Cols)) }

// zeros returns a matrix of zeros with the shape of x, or with its error.
func (x Matrix[T]) zeros() Matrix[T] {
	x = x.sound()
	out := Zeros[T](x.Rows, x.Cols)
	out.Err = x.Err
	return out
}

// each applies f to every entry or, on the exact road, g.
func (x Matrix[T]) each(f func(T) T, g unary) Matrix[T] {
	if x = x.sound(); x.exact != nil {
		return x.exactEach(g)
	}
	out := Zeros[T](x.Rows, x.Cols)
	for i, a := range x.Data {
		out.Data[i] = f(a)
	}
	out.Err = x.Err
	return out
}
