package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// LayerNorm computes y = (x − μ)/σ∘w + b over the rows of n.X, with σ = √(variance + ε). It stores μ and 1/σ in n.
func LayerNorm[T Float](p *Pool, y []T, n Norm[T]) {
	if n.B != nil {
		n.B = n.B[:len(n.W)]
	}
	a := normTask[T]{y, n}
	if rows, grain := len(n.Mean), rowGrain(len(n.W)); rows > grain {
		Spread(p, rows, grain, a)
	} else {
		a.Do(0, rows)
	}
}

// normTask holds the arguments of LayerNorm.
type normTask[T Float] struct {
	y []T
	Norm[T]
}

func (a *normTask[T]) Do(from, to int) {
	d, mean, inv := len(a.W), a.Mean[from:to], a.Spread[from:to]
	x, y := a.X[from*d:to*d], a.y[from*d:to*d]
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		fast.LayerNorm(f(y), f(x), f(a.W), f(a.B), f(mean), f(inv), 1/float32(d), float32(a.Eps))
		return
	}
	for i := range inv {
		mu, variance := moments(x[i*d : (i+1)*d])
		mean[i], inv[i] = T(mu), T(1/math.Sqrt(variance+a.Eps))
		scaleShift(y[i*d:(i+1)*d], x[i*d:(i+1)*d], a.W, a.B, mean[i], inv[i])
	}
}

// LayerNormBackward computes dx = (g − mean(g) − x̂∘mean(g∘x̂))/σ with g = dy∘w, dw = Σ dy∘x̂ and db = Σ dy over the
// tokens. Each of the three is optional.
func LayerNormBackward[T Float](p *Pool, n Norm[T], dy []T, grads NormGrads[T]) {
	SpreadOn(p, parts[T](p, normOperations*len(dy)), Parts, 1, normBackwardTask[T]{n, dy, grads})
	grads.fold(p)
}

// normBackwardTask holds the arguments of LayerNormBackward.
type normBackwardTask[T Float] normBackward[T]

func (a *normBackwardTask[T]) Do(part, _ int) {
	from, to, dw, db := a.grads.part(part, len(a.Mean))
	d := len(a.W)
	mean, inv, x, dy := a.Mean[from:to], a.Spread[from:to], a.X[from*d:to*d], a.dy[from*d:to*d]
	var dx []T
	if a.grads.X != nil {
		dx = a.grads.X[from*d : to*d]
	}
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		fast.LayerNormBackward(f(dx), f(dw), f(db), f(x), f(a.W), f(dy), f(mean), f(inv), 1/float32(d))
		return
	}
	for i := range inv {
		x, dy := x[i*d:(i+1)*d], dy[i*d:(i+1)*d]
		g, gx := project(dw, db, x, a.W, dy, mean[i], inv[i])
		if dx == nil {
			continue
		}
		row, m, q := dx[i*d:(i+1)*d], T(g), T(gx)
		for j, v := range x {
			// T(…) rounds the product as project does. Otherwise a fused multiply-subtract leaves the rounding of the
			// mean where the products are equal and the gradient is 0.
			row[j] = (T(dy[j]*a.W[j]) - m - T((v-mean[i])*inv[i]*q)) * inv[i]
		}
	}
}
