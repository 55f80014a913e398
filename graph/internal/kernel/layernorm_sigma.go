package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// LayerNormSigma computes y = (x − μ)/(σ + ε)∘w + b over the rows of n.X, with σ the root of the variance. It stores μ
// and σ in n.
func LayerNormSigma[T Float](p *Pool, y []T, n Norm[T]) {
	if n.B != nil {
		n.B = n.B[:len(n.W)]
	}
	a := sigmaNormTask[T]{y, n}
	if rows, grain := len(n.Mean), rowGrain(len(n.W)); rows > grain {
		Spread(p, rows, grain, a)
	} else {
		a.Do(0, rows)
	}
}

// sigmaNormTask holds the arguments of LayerNormSigma.
type sigmaNormTask[T Float] struct {
	y []T
	Norm[T]
}

func (a *sigmaNormTask[T]) Do(from, to int) {
	d := len(a.W)
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		x, y := a.X[from*d:to*d], a.y[from*d:to*d]
		fast.LayerNormSigma(f(y), f(x), f(a.W), f(a.B), f(a.Mean[from:to]), f(a.Spread[from:to]),
			1/float32(d), float32(a.Eps))
		return
	}
	for i := from; i < to; i++ {
		mu, variance := moments(a.X[i*d : (i+1)*d])
		a.Mean[i], a.Spread[i] = T(mu), T(math.Sqrt(variance))
		scaleShift(a.y[i*d:(i+1)*d], a.X[i*d:(i+1)*d], a.W, a.B, a.Mean[i], 1/(a.Spread[i]+T(a.Eps)))
	}
}

// LayerNormSigmaBackward computes dx = (g − mean(g) − (x − μ)/σ∘mean(g∘x̂))/(σ + ε) with g = dy∘w and x̂ = (x − μ)/(σ +
// ε), dw = Σ dy∘x̂ and db = Σ dy over the tokens. dw and db are optional. In a row with σ = 0, dx is NaN or
// infinite.
func LayerNormSigmaBackward[T Float](p *Pool, n Norm[T], dy []T, grads NormGrads[T]) {
	SpreadOn(p, parts[T](p, normOperations*len(dy)), Parts, 1, sigmaNormBackwardTask[T]{n, dy, grads})
	grads.fold(p)
}

// sigmaNormBackwardTask holds the arguments of LayerNormSigmaBackward.
type sigmaNormBackwardTask[T Float] normBackward[T]

func (a *sigmaNormBackwardTask[T]) Do(part, _ int) {
	from, to, dw, db := a.grads.part(part, len(a.Mean))
	d := len(a.W)
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		x, dy, dx := a.X[from*d:to*d], a.dy[from*d:to*d], a.grads.X[from*d:to*d]
		fast.LayerNormSigmaBackward(f(dx), f(dw), f(db), f(x), f(a.W), f(dy), f(a.Mean[from:to]), f(a.Spread[from:to]),
			1/float32(d), float32(a.Eps))
		return
	}
	for i := from; i < to; i++ {
		x, dy, dx := a.X[i*d:(i+1)*d], a.dy[i*d:(i+1)*d], a.grads.X[i*d:(i+1)*d]
		mu, inv := a.Mean[i], 1/(a.Spread[i]+T(a.Eps))
		g, gx := project(dw, db, x, a.W, dy, mu, inv)
		m, q := T(g), T(gx)/a.Spread[i]
		for j, v := range x {
			// T(…) rounds the product as in LayerNormBackward.
			dx[j] = (T(dy[j]*a.W[j]) - m - T((v-mu)*q)) * inv
		}
	}
}
