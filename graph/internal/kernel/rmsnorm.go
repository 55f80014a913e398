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
	d := len(a.W)
	rmsRows(a.y[from*d:to*d], a.X[from*d:to*d], a.W, a.Spread[from:to], a.Eps)
}

// rmsRows computes the rows y = x/rms∘w, as many as inv has entries, and stores 1/rms there.
func rmsRows[T Float](y, x, w, inv []T, eps float64) {
	d := len(w)
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		fast.RmsNorm(f(y), f(x), f(w), f(inv), 1/float32(d), float32(eps))
		return
	}
	for i := range inv {
		row, squares := x[i*d:(i+1)*d], 0.0
		for _, v := range row {
			squares += float64(float64(v) * float64(v))
		}
		inv[i] = T(1 / math.Sqrt(squares/float64(d)+eps))
		scaleShift(y[i*d:(i+1)*d], row, w, nil, 0, inv[i])
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
	rmsRowsBackward(a.grads.X[from*d:to*d], dw, db, a.X[from*d:to*d], a.W, a.dy[from*d:to*d], a.Spread[from:to])
}

// rmsRowsBackward computes the rows dx and adds their dy∘x̂ to dw; inv is 1/rms of each. db is not used.
func rmsRowsBackward[T Float](dx, dw, db, x, w, dy, inv []T) {
	d := len(w)
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		fast.RmsNormBackward(f(dx), f(dw), f(x), f(w), f(dy), f(inv), 1/float32(d))
		return
	}
	for i, s := range inv {
		x, dy, dx := x[i*d:(i+1)*d], dy[i*d:(i+1)*d], dx[i*d:(i+1)*d]
		_, gx := project(dw, db, x, w, dy, 0, s)
		for j, v := range x {
			dx[j] = (T(dy[j]*w[j]) - T(v*s*T(gx))) * s
		}
	}
}

// QKNorm normalises groups of columns of a matrix, each group of a row separately, as RMSNorm does a row. The first
// columns are Groups[0] groups with the gains W[0], one for each column of a group, then come Groups[1] groups with
// W[1]. It leaves the other columns unchanged.
type QKNorm[T Float] struct {
	X, Spread []T // (n, Width), and (n, Groups[0]+Groups[1]): 1/rms of every group
	W         [2][]T
	Groups    [2]int
	Width     int
	Eps       float64
}

// Run computes y from n.X.
func (n QKNorm[T]) Run(p *Pool, y []T) {
	Spread(p, len(y)/n.Width, rowGrain(n.Width), qkNormTask[T]{n, y})
}

// qkNormTask holds the arguments of Run.
type qkNormTask[T Float] struct {
	QKNorm[T]
	y []T
}

func (a *qkNormTask[T]) Do(from, to int) {
	groups := a.Groups[0] + a.Groups[1]
	for row := from; row < to; row++ {
		x, y, inv := a.X[row*a.Width:][:a.Width], a.y[row*a.Width:][:a.Width], a.Spread[row*groups:][:groups]
		for i, w := range a.W {
			n, size := a.Groups[i], a.Groups[i]*len(w)
			rmsRows(y[:size], x[:size], w, inv[:n], a.Eps)
			x, y, inv = x[size:], y[size:], inv[n:]
		}
		copy(y, x)
	}
}

// Backward computes dx, and the gradients of both W, which are optional. grads[0].X is dx; grads[1].X is not
// used, nor is B.
func (n QKNorm[T]) Backward(p *Pool, dy []T, grads [2]NormGrads[T]) {
	SpreadOn(p, parts[T](p, normOperations*len(dy)), Parts, 1, qkNormBackwardTask[T]{n, dy, grads})
	for _, g := range grads {
		g.fold(p)
	}
}

// qkNormBackwardTask holds the arguments of Backward.
type qkNormBackwardTask[T Float] struct {
	QKNorm[T]
	dy    []T
	grads [2]NormGrads[T]
}

func (a *qkNormBackwardTask[T]) Do(part, _ int) {
	var dw, db [2][]T
	from, to := 0, 0
	for i, g := range a.grads {
		from, to, dw[i], db[i] = g.part(part, len(a.dy)/a.Width)
	}
	groups, dx := a.Groups[0]+a.Groups[1], a.grads[0].X
	for row := from; row < to; row++ {
		at := row * a.Width
		inv := a.Spread[row*groups:][:groups]
		for i, w := range a.W {
			n, end := a.Groups[i], at+a.Groups[i]*len(w)
			rmsRowsBackward(dx[at:end], dw[i], db[i], a.X[at:end], w, a.dy[at:end], inv[:n])
			at, inv = end, inv[n:]
		}
		copy(dx[at:(row+1)*a.Width], a.dy[at:])
	}
}
