package kernel

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"

// The tanh form replaces Φ(x) by ½(1 + tanh u), u = √(2/π)(x + 0.044715·x³), which is the logistic function of 2u.
const (
	tanhA = 0.7978845608028654 // √(2/π)
	tanhB = 0.044715
)

// logistic returns s = 1/(1 + e^(−2u)) and its derivative s(1−s)·2u', where 1−s = s·e^(−2u) does not cancel.
func logistic[T Float](x T) (s, slope T) {
	e := Exp(-2 * tanhA * (x + tanhB*x*x*x))
	if s = 1 / (1 + e); s == 0 || e == 0 {
		return s, 0
	}
	return s, s * s * e * 2 * tanhA * (1 + 3*tanhB*x*x)
}

// GELUTanh computes y = ½x(1 + tanh u).
func GELUTanh[T Float](p *Pool, y, x []T) { each[T](p, tanhGELU[T]{}, y, x, nil) }

type tanhGELU[T Float] struct{}

func (tanhGELU[T]) of(y, x, _ []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.GeluTanh(simd.Float32s(y), simd.Float32s(x))
		return
	}
	for i, v := range x {
		s, _ := logistic(v)
		y[i] = times(s, v)
	}
}

// GELUTanhBackward computes dx = dy∘(s + x·s(1−s)·2u'), s = ½(1 + tanh u).
func GELUTanhBackward[T Float](p *Pool, dx, x, dy []T) { each[T](p, tanhGELUSlope[T]{}, dx, x, dy) }

type tanhGELUSlope[T Float] struct{}

func (tanhGELUSlope[T]) of(dx, x, dy []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.GeluTanhBackward(simd.Float32s(dx), simd.Float32s(x), simd.Float32s(dy))
		return
	}
	for i, v := range x {
		s, slope := logistic(v)
		dx[i] = dy[i] * (s + times(slope, v))
	}
}
