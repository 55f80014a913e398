package kernel

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// Logistic returns σ(x) = 1/(1 + e^(−x)) and 1 − σ(x) = σ(x)·e^(−x), which does not cancel. It is σ(−x), the form of
// hand.Sigmoid, by e^(−x) = 1/eˣ.
func Logistic[T Float](x T) (s, rest T) {
	e := Exp(-x)
	if s = 1 / (1 + e); s == 0 {
		return 0, 1
	}
	return s, s * e
}

// Sigmoid computes y = σ(x).
func Sigmoid[T Float](p *Pool, y, x []T) { each[T](p, logisticTask[T]{}, y, x, nil) }

type logisticTask[T Float] struct{}

func (logisticTask[T]) of(y, x, _ []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Sigmoid(simd.Float32s(y), simd.Float32s(x))
		return
	}
	for i, v := range x {
		y[i], _ = Logistic(v)
	}
}

// SigmoidBackward computes dx = dy∘σ(x)(1 − σ(x)).
func SigmoidBackward[T Float](p *Pool, dx, x, dy []T) { each[T](p, logisticSlope[T]{}, dx, x, dy) }

type logisticSlope[T Float] struct{}

func (logisticSlope[T]) of(dx, x, dy []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.SigmoidBackward(simd.Float32s(dx), simd.Float32s(x), simd.Float32s(dy))
		return
	}
	for i, v := range x {
		s, rest := Logistic(v)
		dx[i] = dy[i] * (s * rest)
	}
}

// SiLU computes y = x·σ(x).
func SiLU[T Float](p *Pool, y, x []T) { each[T](p, silu[T]{}, y, x, nil) }

type silu[T Float] struct{}

func (silu[T]) of(y, x, _ []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Silu(simd.Float32s(y), simd.Float32s(x))
		return
	}
	for i, v := range x {
		s, _ := Logistic(v)
		y[i] = times(s, v)
	}
}

// SiLUBackward computes dx = dy∘(σ(x) + x·σ(x)(1 − σ(x))).
func SiLUBackward[T Float](p *Pool, dx, x, dy []T) { each[T](p, siluSlope[T]{}, dx, x, dy) }

type siluSlope[T Float] struct{}

func (siluSlope[T]) of(dx, x, dy []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.SiluBackward(simd.Float32s(dx), simd.Float32s(x), simd.Float32s(dy))
		return
	}
	for i, v := range x {
		s, rest := Logistic(v)
		dx[i] = dy[i] * (s + times(s*rest, v))
	}
}

// Softplus computes y = max(x, 0) + ln(1 + e^(−|x|)).
func Softplus[T Float](p *Pool, y, x []T) { each[T](p, softplus[T]{}, y, x, nil) }

type softplus[T Float] struct{}

func (softplus[T]) of(y, x, _ []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Softplus(simd.Float32s(y), simd.Float32s(x))
		return
	}
	for i, v := range x {
		y[i] = min(v, -v)
	}
	Exps(y)
	for i, v := range x {
		y[i] = max(v, 0) + log1p(y[i])
	}
}

// Exps replaces x by eˣ.
func Exps[T Float](x []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Exp(simd.Float32s(x), simd.Float32s(x), 0, 1)
		return
	}
	for i, v := range x {
		x[i] = Exp(v)
	}
}

// log1p returns ln(1 + x) for 0 ≤ x ≤ 1. In float32 it is 2·artanh(s), s = x/(2 + x) ≤ ⅓, by its series to s¹³, whose
// remainder is below 2e-8 of it.
func log1p[T Float](x T) T {
	if y, ok := any(x).(float64); ok {
		return T(elementary.Log1p(y))
	}
	s := x / (2 + x)
	t := s * s
	p := 1./7 + T(t*(1./9+T(t*(1./11+T(t*(1./13))))))
	return 2 * s * (1 + T(t*(1./3+T(t*(1./5+T(t*p))))))
}

// SoftplusBackward computes dx = dy∘σ(x).
func SoftplusBackward[T Float](p *Pool, dx, x, dy []T) { each[T](p, softplusSlope[T]{}, dx, x, dy) }

type softplusSlope[T Float] struct{}

func (softplusSlope[T]) of(dx, x, dy []T) {
	logisticTask[T]{}.of(dx, x, nil)
	Mul(dx, dx, dy)
}
