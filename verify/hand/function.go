package hand

import (
	"math"
	"math/cmplx"

	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// The functions below are analytic wherever a formula uses them, so that they carry the infinitesimal imaginary part of
// the complex step. They take no absolute value, and every comparison uses real parts alone.

// Exp returns eˣ, entry by entry.
func (x Matrix[T]) Exp() Matrix[T] { return x.apply(math.Exp, cmplx.Exp, (*exact.Draw).Exp) }

// Log returns ln x, entry by entry.
func (x Matrix[T]) Log() Matrix[T] { return x.apply(math.Log, cmplx.Log, (*exact.Draw).Log) }

// Sqrt returns √x, entry by entry.
func (x Matrix[T]) Sqrt() Matrix[T] { return x.apply(math.Sqrt, cmplx.Sqrt, (*exact.Draw).Sqrt) }

// Tanh returns tanh x, entry by entry.
func (x Matrix[T]) Tanh() Matrix[T] { return x.apply(math.Tanh, cmplx.Tanh, (*exact.Draw).Tanh) }

// Erf returns erf x, entry by entry. Off the real axis it uses one term of the Taylor series, which is exact for the
// imaginary parts of a complex step.
func (x Matrix[T]) Erf() Matrix[T] {
	return x.apply(math.Erf, func(z complex128) complex128 {
		a, b := real(z), imag(z)
		if b != 0 {
			b = b * 2 / math.SqrtPi * math.Exp(-a*a)
		}
		return complex(math.Erf(a), b)
	}, (*exact.Draw).Erf)
}

// Step returns 1 where x is positive and 0 elsewhere.
func (x Matrix[T]) Step() Matrix[T] {
	return x.each(func(a T) T {
		if realPart(a) > 0 {
			return 1
		}
		return 0
	}, func(d *exact.Draw, a exact.Number) exact.Number {
		if a.Real > 0 {
			return d.Real(1)
		}
		return d.Real(0)
	})
}

// Min returns the smaller of x and y by their real parts, entry by entry.
func (x Matrix[T]) Min(y Matrix[T]) Matrix[T] {
	return x.combine("min", y, func(a, b T) T {
		if realPart(b) < realPart(a) {
			return b
		}
		return a
	}, func(_ *exact.Draw, a, b exact.Number) exact.Number {
		if exact.Less(b, a) {
			return b
		}
		return a
	})
}

// Clamp returns x within the bounds [low, high], entry by entry.
func (x Matrix[T]) Clamp(low, high float64) Matrix[T] {
	if !(low <= high) {
		return failed[T]("clamp to %v … %v", low, high)
	}
	ends := NewMatrix(1, 2, number[T](low), number[T](high))
	return x.Min(ends.Columns(1, 2)).Scale(-1).Min(ends.Columns(0, 1).Scale(-1)).Scale(-1)
}

// RowMax returns the largest real part of each row: (n, d) → (n, 1).
func (x Matrix[T]) RowMax() Matrix[T] {
	if x = x.sound(); x.exact != nil {
		return x.exactRowMax()
	}
	out := Zeros[T](x.Rows, 1)
	for i := range x.Rows {
		largest := math.Inf(-1)
		for j := range x.Cols {
			largest = max(largest, realPart(x.At(i, j)))
		}
		out.Data[i] = number[T](largest)
	}
	out.Err = x.Err
	return out
}

// Softmax returns the softmax of each row, a probability distribution.
func (x Matrix[T]) Softmax() Matrix[T] {
	e := x.Sub(x.RowMax()).Exp()
	return e.Div(e.Sum())
}

// LogSumExp returns ln Σ eˣ of each row, without overflow: (n, d) → (n, 1).
func (x Matrix[T]) LogSumExp() Matrix[T] {
	largest := x.RowMax()
	return x.Sub(largest).Exp().Sum().Log().Add(largest)
}

func (x Matrix[T]) apply(f func(float64) float64, g func(complex128) complex128, h unary) Matrix[T] {
	return x.each(func(a T) T {
		switch p := any(&a).(type) {
		case *float64:
			*p = f(*p)
		case *complex128:
			*p = g(*p)
		}
		return a
	}, h)
}

func number[T Number](x float64) T {
	var a T
	switch p := any(&a).(type) {
	case *float64:
		*p = x
	case *complex128:
		*p = complex(x, 0)
	}
	return a
}

func realPart[T Number](a T) float64 {
	switch a := any(a).(type) {
	case float64:
		return a
	case complex128:
		return real(a)
	}
	return math.NaN()
}
