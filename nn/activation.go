package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pkg/errors"
)

// GELU is the exact Gaussian error linear unit, entry by entry: y = x·Φ(x) = ½x(1 + erf(x/√2)).
type GELU struct{}

// Forward returns ½x(1 + erf(x/√2)).
func (GELU) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := fused.GELU(x); ok {
		return y
	}
	return x.Scale(1 / math.Sqrt2).Erf().Shift(1).Mul(x).Scale(0.5)
}

// GELUTanh is GPT-2's approximation of GELU: y = ½x(1 + tanh(√(2/π)(x + 0.044715·x³))), at most 4.7e-4 away.
type GELUTanh struct{}

// Forward returns ½x(1 + tanh(√(2/π)(x + 0.044715·x³))).
func (GELUTanh) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := fused.GELUTanh(x); ok {
		return y
	}
	u := x.Cube().Scale(0.044715).Add(x).Scale(math.Sqrt(2 / math.Pi))
	return u.Tanh().Shift(1).Mul(x).Scale(0.5)
}

// ReLU is max(x, 0), entry by entry, with derivative 0 at 0.
type ReLU struct{}

// Forward returns max(x, 0).
func (ReLU) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := fused.ReLU(x); ok {
		return y
	}
	return x.ReLU()
}

// ReLU2 is the square of ReLU (So et al. 2021), entry by entry: y = max(x, 0)², with derivative 2·max(x, 0).
type ReLU2 struct{}

// Forward returns max(x, 0)².
func (ReLU2) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := fused.ReLU2(x); ok {
		return y
	}
	return x.ReLU().Square()
}

// Sigmoid is the logistic function, entry by entry: y = σ(x) = 1/(1 + e^(−x)), between 0 and 1. Its gradient has 1 −
// σ(x) = σ(−x), which needs e^(−x) = 1/eˣ; the exact road draws one of the two and inverts it.
type Sigmoid struct{}

// Forward returns σ(x).
func (Sigmoid) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := fused.Sigmoid(x); ok {
		return y
	}
	return x.Sigmoid()
}

// SiLU is the sigmoid linear unit (Elfwing, Uchibe and Doya 2017), also called swish, entry by entry: y = x·σ(x) = x/(1
// + e^(−x)).
type SiLU struct{}

// Forward returns x·σ(x).
func (SiLU) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := fused.SiLU(x); ok {
		return y
	}
	return x.Mul(x.Sigmoid())
}

// Softplus is a smooth max(x, 0) (Dugas et al. 2001), entry by entry: y = ln(1 + eˣ), positive, with derivative σ(x).
// It is computed as max(x, 0) + ln(1 + e^(−|x|)), which needs e^(−x) = 1/eˣ, as Sigmoid does.
type Softplus struct{}

// Forward returns ln(1 + eˣ).
func (Softplus) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := fused.Softplus(x); ok {
		return y
	}
	return x.Softplus()
}

// SoftCap keeps numbers between −c and c (Gemma 2), entry by entry: y = c·tanh(x/c), with derivative 1 at 0.
type SoftCap struct{ Cap float64 }

// Forward returns c·tanh(x/c).
func (l SoftCap) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if !(l.Cap > 0 && l.Cap <= math.MaxFloat64) {
		return x.Wrap(nil, errors.Errorf("nn.SoftCap: cap: got %v, want a positive number", l.Cap))
	}
	return x.Scale(1 / l.Cap).Tanh().Scale(l.Cap)
}
