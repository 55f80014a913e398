package hand

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// Partial is the attention of queries over some of the keys (R. Xu, "Transformer with PyTorch", 5.2 and 5.3). A row
// summarizes the keys seen so far, in whatever order they came; Merge combines two of them.
//
//	m = max x                (n, 1)
//	d = Σ e^(x−m)            (n, 1)      Xu (74)
//	o = Σ e^(x−m)/d · v      (n, dh)     Xu (82)
//
// A query that has not seen a key has m = −∞, d = 0 and o = 0; taken literally, the paper has NaN (erratum X1b).
//
// Merge needs e^(x−a)e^(a−m) = e^(x−m) for the maxima a and m; on the exact road, e^(x−m) is eˣ/eᵐ for a maximum m.
type Partial[T Number] struct {
	Max, Total Matrix[T]
	Out        Matrix[T] // optional, absent if only the softmax is needed
}

// NewPartial returns the Partial of a tile of scores (n, m) with optional values (m, dh).
func NewPartial[T Number](scores, values Matrix[T]) Partial[T] {
	top := scores.RowMax()
	p := exponentials(scores, top)
	a := Partial[T]{Max: top, Total: p.Sum()}
	if !values.None() {
		a.Out = share(p, a.Total).MatMul(values)
	}
	return a
}

// Merge returns the attention over the keys of both, which must be disjoint. With one key in b it is the step of Xu
// (84), whose factor e^(m_i)/e^(m_(i−1)) is upside down (erratum X1); the two exponentials of the quotient would
// overflow.
//
//	m = max(m_a, m_b)
//	d = d_a e^(m_a−m) + d_b e^(m_b−m)
//	o = o_a (d_a/d) e^(m_a−m) + o_b (d_b/d) e^(m_b−m)
func (a Partial[T]) Merge(b Partial[T]) Partial[T] {
	top := a.Max.combine("max", b.Max, func(x, y T) T { return number[T](max(realPart(x), realPart(y))) },
		func(d *exact.Draw, x, y exact.Number) exact.Number {
			if exact.Less(x, y) {
				return y
			}
			return x
		})
	fromA := a.Total.Mul(exponentials(a.Max, top))
	fromB := b.Total.Mul(exponentials(b.Max, top))
	c := Partial[T]{Max: top, Total: fromA.Add(fromB)}
	if !a.Out.None() || !b.Out.None() {
		c.Out = a.Out.Mul(share(fromA, c.Total)).Add(b.Out.Mul(share(fromB, c.Total)))
	}
	return c
}

// LogSumExp returns ln Σ eˣ = m + ln d, (n, 1), which is −∞ for a query that has not seen a key.
func (a Partial[T]) LogSumExp() Matrix[T] { return a.Max.Add(a.Total.Log()) }

// exponentials returns e^(x−m), and 0 where x is −∞ even if m is.
func exponentials[T Number](x, m Matrix[T]) Matrix[T] {
	return x.Sub(m).Exp().combine("guard", x, func(e, x T) T {
		if math.IsInf(realPart(x), -1) {
			return 0
		}
		return e
	}, func(d *exact.Draw, e, x exact.Number) exact.Number {
		if math.IsInf(x.Real, -1) {
			return d.Real(0)
		}
		return e
	})
}

// share returns x/total, and 0 where total is 0.
func share[T Number](x, total Matrix[T]) Matrix[T] {
	return x.combine("share", total, func(x, total T) T {
		if total == 0 {
			return 0
		}
		return x / total
	}, func(d *exact.Draw, x, total exact.Number) exact.Number {
		if total.Value == 0 {
			return d.Real(0)
		}
		return d.Div(x, total)
	})
}
