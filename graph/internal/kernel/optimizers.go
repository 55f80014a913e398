package kernel

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// AdamW is one update of decoupled weight decay: with t counted from 1 and g the clipped gradient scale·dw,
// m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², w ← w − lr·(m̂/(√v̂ + ε) + decay·w), m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ).
type AdamW struct{ LR, Beta1, Beta2, Eps, Decay float64 }

// Update applies step t to w, m and v in place, and reports whether the sum of the squares of w is finite. It checks
// while w is in the cache: a separate pass over memory takes a large model longer than the arithmetic.
func Update[T Float](p *Pool, o AdamW, t int, scale float64, w, dw, m, v []T) (finite bool) {
	b1, b2 := T(o.Beta1), T(o.Beta2)
	rate := T(o.LR / (1 - math.Pow(o.Beta1, float64(t))))
	root := T(1 / math.Sqrt(1-math.Pow(o.Beta2, float64(t))))
	keep, eps, s := T(1-o.LR*o.Decay), T(o.Eps), T(scale)
	u := &struct { // a single allocation
		factors [9]float32
		broken  atomic.Bool
	}{factors: [9]float32{
		float32(s), float32(b1), float32(1 - b1), float32(b2), float32(1 - b2),
		float32(keep), float32(rate), float32(root), float32(eps),
	}}
	p.Range(len(w), grain, func(from, to int) {
		w, dw, m, v := w[from:to], dw[from:to], m[from:to], v[from:to]
		if fast := simd.Of[T](); fast != nil {
			fast.AdamW(simd.Float32s(w), simd.Float32s(dw), simd.Float32s(m), simd.Float32s(v), &u.factors)
			dw = nil
		}
		for i, g := range dw {
			g *= s
			m[i] = b1*m[i] + (1-b1)*g
			v[i] = b2*v[i] + (1-b2)*g*g
			w[i] = keep*w[i] - rate*m[i]/(T(math.Sqrt(float64(v[i])))*root+eps)
		}
		if sum := squares(w); math.IsNaN(sum) || math.IsInf(sum, 0) {
			u.broken.Store(true)
		}
	})
	return !u.broken.Load()
}

// SumSquares returns Σ x² in float64. It sums parts of fixed size in a fixed order.
func SumSquares[T Float](p *Pool, x []T) (sum float64) {
	shelf := shelfOf[squaresTask[T]](p)
	t := shelf.take()
	n := (len(x) + grain - 1) / grain
	t.x, t.parts = x, slices.Grow(t.parts[:0], n)[:n]
	p.Run(len(x), grain, t)
	for _, part := range t.parts {
		sum += part
	}
	t.x = nil
	shelf.give(t)
	return sum
}

// Grain is the number of entries in a chunk: SumSquares sums each chunk, and then adds up the chunks in their order.
const Grain = grain

// Chunks returns the number of chunks of n entries.
func Chunks(n int) int { return (n + grain - 1) / grain }

// Squares computes Σ x² of every chunk.
func Squares[T Float](p *Pool, x []T, parts []float64) {
	Spread(p, len(x), grain, squaresTask[T]{x, parts})
}

// squaresTask computes Σ x² of every chunk. SumSquares reuses the memory of parts for the next sum.
type squaresTask[T Float] struct {
	x     []T
	parts []float64
}

func (t *squaresTask[T]) Do(from, to int) {
	t.parts[from/grain] = squares(t.x[from:to])
}

func squares[T Float](x []T) (sum float64) {
	if fast := simd.Of[T](); fast != nil {
		return fast.SumSquares(simd.Float32s(x))
	}
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// SGD is one update of stochastic gradient descent with decoupled weight decay: with the clipped gradient g = scale·dw,
// m ← momentum·m + g, w ← w − lr·(m + decay·w). Without momentum m is nil and stands for g.
//
// As in AdamW, an m below 2⁻⁹⁵ counts as 0. Otherwise, without a gradient, it would fall below the normal numbers and,
// rounded up again and again, stay there.
type SGD struct{ LR, Momentum, Decay float64 }

// Descend applies a step to w and m in place.
func Descend[T Float](p *Pool, o SGD, scale float64, w, dw, m []T) {
	const least = 0x1p-95
	keep, rate, momentum, s := T(1-o.LR*o.Decay), T(o.LR), T(o.Momentum), T(scale)
	p.Range(len(w), grain, func(from, to int) {
		w, dw := w[from:to], dw[from:to]
		if m == nil {
			for i, g := range dw {
				w[i] = keep*w[i] - rate*(s*g)
			}
			return
		}
		m := m[from:to]
		for i, g := range dw {
			if -least < m[i] && m[i] < least {
				m[i] = 0
			}
			m[i] = momentum*m[i] + s*g
			w[i] = keep*w[i] - rate*m[i]
		}
	})
}
