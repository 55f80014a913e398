package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// The exact GELU is x·Φ(x), Φ the distribution function of the standard normal, with the derivative Φ(x) + x·φ(x). In
// float32 both come from a table of Φ and its derivatives at steps of 1/64: between two nodes a cubic that meets value
// and slope at both ends is off by less than h⁴/384·max|Φ⁗| = 3e-10, far below the last place of a float32.
const (
	normalSteps = 64
	normalRange = 6 // beyond, Φ is 0 or 1 to a float32
)

type normalNode struct{ cdf, pdf, slope float32 } // Φ, φ, φ' at a node, the last two times the step

var normalTable = func() (table [2*normalRange*normalSteps + 2]normalNode) {
	const h = 1. / normalSteps
	for i := range table {
		x := float64(float64(i)*h) - normalRange
		pdf := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		table[i] = normalNode{float32(math.Erfc(-x/math.Sqrt2) / 2), float32(pdf * h), float32(-x * pdf * h)}
	}
	return table
}()

// normal returns Φ(x) and φ(x).
func normal[T Float](x T) (cdf, pdf T) {
	if y, ok := any(x).(float64); ok {
		return T(math.Erfc(-y/math.Sqrt2) / 2), T(math.Exp(-y*y/2) / math.Sqrt(2*math.Pi))
	}
	switch {
	case x >= normalRange:
		return 1, 0
	case x <= -normalRange:
		return 0, 0
	case x != x:
		return x, x
	}
	at := float32((float32(x) + normalRange) * normalSteps)
	i := int(at)
	t := at - float32(i)
	a, b := &normalTable[i], &normalTable[i+1]
	u := 1 - t
	h00, h01 := u*u*(1+2*t), t*t*(3-2*t) // the cubic through two values and two slopes
	h10, h11 := t*u*u, -t*t*u
	cdf = T(float32(h00*a.cdf) + float32(h01*b.cdf) + float32(h10*a.pdf) + float32(h11*b.pdf))
	pdf = T(float32((float32(h00*a.pdf)+float32(h01*b.pdf))*normalSteps) + float32(h10*a.slope) + float32(h11*b.slope))
	return cdf, pdf
}

// times returns a·x, but 0 if a is 0: the limit of the activations at ±∞.
func times[T Float](a, x T) T {
	if a == 0 {
		return 0
	}
	return a * x
}

// GELU computes y = x·Φ(x).
func GELU[T Float](p *Pool, y, x []T) { each[T](p, exactGELU[T]{}, y, x, nil) }

type exactGELU[T Float] struct{}

func (exactGELU[T]) of(y, x, _ []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Gelu(simd.Float32s(y), simd.Float32s(x))
		return
	}
	for i, v := range x {
		cdf, _ := normal(v)
		y[i] = times(cdf, v)
	}
}

// GELUBackward computes dx = dy∘(Φ(x) + x·φ(x)).
func GELUBackward[T Float](p *Pool, dx, x, dy []T) { each[T](p, exactGELUSlope[T]{}, dx, x, dy) }

type exactGELUSlope[T Float] struct{}

func (exactGELUSlope[T]) of(dx, x, dy []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.GeluBackward(simd.Float32s(dx), simd.Float32s(x), simd.Float32s(dy))
		return
	}
	for i, v := range x {
		cdf, pdf := normal(v)
		dx[i] = dy[i] * (cdf + times(pdf, v))
	}
}

// The tanh form replaces Φ(x) by ½(1 + tanh u), u = √(2/π)(x + 0.044715·x³), which is the logistic function of 2u.
const (
	tanhA = 0.7978845608028654 // √(2/π)
	tanhB = 0.044715
)

// logistic returns s = 1/(1 + e^(−2u)) and its derivative s(1−s)·2u', where 1−s = s·e^(−2u) does not cancel.
func logistic[T Float](x T) (s, slope T) {
	e := Exp(-2 * tanhA * (x + T(tanhB*x*x*x)))
	if s = 1 / (1 + e); s == 0 || e == 0 {
		return s, 0
	}
	return s, T(s*s*e) * 2 * tanhA * (1 + T(3*tanhB*x*x))
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
