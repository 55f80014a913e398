package verify

import (
	"fmt"
	"math"
)

// Activation names the function between the two layers of an MLP.
type Activation int

// The activations.
const (
	GELU     Activation = iota // exact, by erf
	GELUTanh                   // GPT-2's, by tanh
	ReLU
)

// ActivationForward applies the function named by g.
func ActivationForward[T Number](g Activation, x Matrix[T]) Matrix[T] {
	switch g {
	case GELU:
		return GELUForward(x)
	case GELUTanh:
		return GELUTanhForward(x)
	case ReLU:
		return ReLUForward(x)
	}
	return Matrix[T]{Err: fmt.Errorf("verify: no activation %d", int(g))}
}

// ActivationBackward returns Δ at the input x of the function named by g.
//
//	Δx = Δ ∘ g'(x)
func ActivationBackward[T Number](g Activation, x, delta Matrix[T]) Matrix[T] {
	switch g {
	case GELU:
		return GELUBackward(x, delta)
	case GELUTanh:
		return GELUTanhBackward(x, delta)
	case ReLU:
		return ReLUBackward(x, delta)
	}
	return Matrix[T]{Err: fmt.Errorf("verify: no activation %d", int(g))}
}

// GELUForward is the exact Gaussian error linear unit.
//
//	y = x Φ(x),  Φ(x) = ½(1 + erf(x/√2))
func GELUForward[T Number](x Matrix[T]) Matrix[T] {
	return x.Mul(normalCDF(x))
}

// GELUBackward returns Δ at the input x.
//
//	Δx = Δ ∘ (Φ(x) + x φ(x)),  φ(x) = e^(−x²/2)/√(2π)
func GELUBackward[T Number](x, delta Matrix[T]) Matrix[T] {
	density := x.Square().Scale(-0.5).Exp().Scale(1 / math.Sqrt(2*math.Pi))
	return delta.Mul(normalCDF(x).Add(x.Mul(density)))
}

func normalCDF[T Number](x Matrix[T]) Matrix[T] {
	return x.Scale(math.Sqrt2 / 2).Erf().Shift(1).Scale(0.5)
}

// cubic is the coefficient of x³ in the tanh form of GELU (Hendrycks and Gimpel, 2016).
const cubic = 0.044715

// GELUTanhForward is the tanh form of GELU that GPT-2 was trained with. It is
// off the exact one by 4.7e-4 at most.
//
//	y = ½x(1 + tanh u),  u = √(2/π)(x + 0.044715 x³)
func GELUTanhForward[T Number](x Matrix[T]) Matrix[T] {
	return x.Mul(gate(x).Shift(1)).Scale(0.5)
}

// GELUTanhBackward returns Δ at the input x.
//
//	Δx = Δ ∘ (½(1 + t) + ½x(1 − t²) u'),  t = tanh u,  u' = √(2/π)(1 + 3·0.044715 x²)
func GELUTanhBackward[T Number](x, delta Matrix[T]) Matrix[T] {
	t := gate(x)
	slope := x.Square().Scale(3 * cubic).Shift(1).Scale(math.Sqrt(2 / math.Pi))
	bend := t.Square().Scale(-1).Shift(1).Mul(x).Mul(slope)
	return delta.Mul(t.Shift(1).Add(bend).Scale(0.5))
}

func gate[T Number](x Matrix[T]) Matrix[T] {
	return x.Mul(x.Square().Scale(cubic).Shift(1)).Scale(math.Sqrt(2 / math.Pi)).Tanh()
}

// ReLUForward keeps what is positive.
//
//	y = max(x, 0)
func ReLUForward[T Number](x Matrix[T]) Matrix[T] { return x.Mul(x.Step()) }

// ReLUBackward returns Δ at the input x. The derivative at 0, which is anybody's
// choice, is 0 as in PyTorch.
//
//	Δx = Δ ∘ 1[x > 0]
func ReLUBackward[T Number](x, delta Matrix[T]) Matrix[T] { return delta.Mul(x.Step()) }
