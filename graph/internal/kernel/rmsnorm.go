package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// RMSNorm computes y = x/rms∘w over the rows of n.X, with rms = √(mean(x²) + ε). It stores 1/rms in n.
func RMSNorm[T Float](p *Pool, y []T, n Norm[T]) {
	a := rmsNormTask[T]{y, n}
	if rows, grain := len(n.Spread), rowGrain(len(n.W)); rows > grain {
		Spread(p, rows, grain, a)
	} else {
		a.Do(0, rows)
	}
}

// rmsNormTask holds the arguments of RMSNorm.
type rmsNormTask[T Float] struct {
	y []T
	Norm[T]
}

func (a *rmsNormTask[T]) Do(from, to int) {
	d, inv := len(a.W), a.Spread[from:to]
	x, y := a.X[from*d:to*d], a.y[from*d:to*d]
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		fast.RmsNorm(f(y), f(x), f(a.W), f(inv), 1/float32(d), float32(a.Eps))
		return
	}
	for i := range inv {
		row, squares := x[i*d:(i+1)*d], 0.0
		for _, v := range row {
			squares += float64(v) * float64(v)
		}
		inv[i] = T(1 / math.Sqrt(squares/float64(d)+a.Eps))
		scaleShift(y[i*d:(i+1)*d], row, a.W, nil, 0, inv[i])
	}
}

// RMSNormBackward computes dx = (g − x̂∘mean(g∘x̂))/rms with g = dy∘w and x̂ = x/rms, and dw = Σ dy∘x̂ over the tokens.
// dw is optional.
func RMSNormBackward[T Float](p *Pool, n Norm[T], dy []T, grads NormGrads[T]) {
	SpreadOn(p, parts[T](p, normOperations*len(dy)), Parts, 1, rmsNormBackwardTask[T]{n, dy, grads})
	grads.fold(p)
}

// rmsNormBackwardTask holds the arguments of RMSNormBackward.
type rmsNormBackwardTask[T Float] normBackward[T]

func (a *rmsNormBackwardTask[T]) Do(part, _ int) {
	from, to, dw, db := a.grads.part(part, len(a.Spread))
	d := len(a.W)
	inv, x, dy, dx := a.Spread[from:to], a.X[from*d:to*d], a.dy[from*d:to*d], a.grads.X[from*d:to*d]
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		fast.RmsNormBackward(f(dx), f(dw), f(x), f(a.W), f(dy), f(inv), 1/float32(d))
		return
	}
	for i, s := range inv {
		x, dy, dx := x[i*d:(i+1)*d], dy[i*d:(i+1)*d], dx[i*d:(i+1)*d]
		_, gx := project(dw, db, x, a.W, dy, 0, s) // db is not used
		for j, v := range x {
			dx[j] = (dy[j]*a.W[j] - v*s*T(gx)) * s
		}
	}
}
