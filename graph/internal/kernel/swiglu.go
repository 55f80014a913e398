package kernel

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"

// SwiGLU computes y = x·σ(x)∘u: u after the gate x.
func SwiGLU[T Float](p *Pool, y, x, u []T) { each[T](p, swiglu[T]{}, y, x, u) }

// SwiGLUSerial is SwiGLU on the thread of the caller.
func SwiGLUSerial[T Float](y, x, u []T) { swiglu[T]{}.of(y, x, u) }

type swiglu[T Float] struct{}

func (swiglu[T]) of(y, x, u []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Swiglu(simd.Float32s(y), simd.Float32s(x), simd.Float32s(u))
		return
	}
	for i, v := range x {
		s, _ := Logistic(v)
		y[i] = times(s, v) * u[i]
	}
}

// SwiGLUBackward computes dx = dy∘u∘(σ(x) + x·σ(x)(1 − σ(x))) and du = dy∘x·σ(x), with one exponential per entry.
func SwiGLUBackward[T Float](p *Pool, dx, du, x, u, dy []T) {
	Spread(p, len(x), grain, swigluBackward[T]{dx, du, x, u, dy})
}

// SwiGLUBackwardSerial is SwiGLUBackward on the thread of the caller.
func SwiGLUBackwardSerial[T Float](dx, du, x, u, dy []T) {
	a := swigluBackward[T]{dx, du, x, u, dy}
	a.Do(0, len(x))
}

// swigluBackward holds the arguments of SwiGLUBackward.
type swigluBackward[T Float] struct{ dx, du, x, u, dy []T }

func (a *swigluBackward[T]) Do(from, to int) {
	dx, du, x, u, dy := a.dx[from:to], a.du[from:to], a.x[from:to], a.u[from:to], a.dy[from:to]
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		fast.SwigluBackward(f(dx), f(du), f(x), f(u), f(dy))
		return
	}
	for i, v := range x {
		s, rest := Logistic(v)
		dx[i] = dy[i] * u[i] * (s + times(s*rest, v))
		du[i] = dy[i] * times(s, v)
	}
}
