package kernel

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// AdamW is one update of decoupled weight decay: with t counted from 1 and g the clipped gradient scale·dw,
// m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², w ← w − lr·(m̂/(√v̂ + ε) + decay·w), m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ).
type AdamW struct{ LR, Beta1, Beta2, Eps, Decay float64 }

// Update applies step t to w, m and v in place.
func Update[T Float](o AdamW, t int, scale float64, w, dw, m, v []T) {
	if len(w) == 0 {
		return
	}
	b1, b2 := T(o.Beta1), T(o.Beta2)
	rate := T(o.LR / (1 - elementary.Pow(o.Beta1, float64(t))))
	root := T(1 / math.Sqrt(1-elementary.Pow(o.Beta2, float64(t))))
	keep, eps, s := T(1-float64(o.LR*o.Decay)), T(o.Eps), T(scale)
	if fast := simd.Of[T](); fast != nil {
		fast.AdamW(simd.Float32s(w), simd.Float32s(dw), simd.Float32s(m), simd.Float32s(v), &[9]float32{
			float32(s), float32(b1), float32(1 - b1), float32(b2), float32(1 - b2),
			float32(keep), float32(rate), float32(root), float32(eps),
		})
		return
	}
	for i, g := range dw {
		g *= s
		m[i] = T(b1*m[i]) + T((1-b1)*g)
		v[i] = T(b2*v[i]) + T((1-b2)*g*g)
		w[i] = T(keep*w[i]) - T(rate*m[i])/(T(T(math.Sqrt(float64(v[i])))*root)+eps)
	}
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

// SumSquaresSerial is SumSquares on the caller's thread, without parts, for use inside a loop of the pool.
func SumSquaresSerial[T Float](x []T) float64 { return squares(x) }

// Finite reports whether Σ x² is finite.
func Finite[T Float](x []T) bool {
	sum := squares(x)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

func squares[T Float](x []T) (sum float64) {
	if fast := simd.Of[T](); fast != nil {
		return fast.SumSquares(simd.Float32s(x))
	}
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}
