package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// LayerNormSigma is LayerNorm with ε outside the root, as in Conti (4):
//
//	y = (x − μ)/(σ + ε) ∘ w̃ + b̃,  σ = √(mean((x − μ)²))
//
// Mean and variance are over the d features, not over the k of a head as printed there (errata C2). The root has no
// derivative at 0: a token of equal features gives b̃, and its gradient is NaN, both in the exact formula and here
// (errata C3). The optimizers refuse such a gradient; LayerNorm, whose ε is inside, avoids it.
type LayerNormSigma struct {
	Weight, Bias graph.Expr // w̃, b̃  (1, d)
	Eps          float64
	scope        graph.Scope
}

// NewLayerNormSigma declares weight, which starts at 1, and, if the site has biases, bias, which starts at 0.
func NewLayerNormSigma(at Site) *LayerNormSigma {
	l := &LayerNormSigma{scope: at.Scope, Eps: at.Eps, Weight: at.Param("weight", graph.Const(1), at.Embd)}
	if at.Bias {
		l.Bias = at.Param("bias", graph.Const(0), at.Embd)
	}
	return l
}

// Forward normalises every row of x.
func (l *LayerNormSigma) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.LayerNormSigma(x, l.Weight, l.Bias, l.Eps); ok {
		return y
	}
	centred := x.Sub(x.Mean())                      // x − μ       (n, d)
	sigma := centred.Square().Mean().Sqrt()         // σ           (n, 1)   (4), errata C2
	y := centred.Div(sigma.Shift(l.Eps))            // x̂           (n, d)   (4)
	if y = y.Mul(l.Weight); l.Bias.Graph() != nil { // x̂ ∘ w̃       (n, d)
		y = y.Add(l.Bias) // x̂ ∘ w̃ + b̃   (n, d)
	}
	return y
}

// LayerNormPlain is LayerNorm without gain and shift, as in CS 224n (27), (28): it only centres and scales.
//
//	y = (x − μ)/σ,  σ = √(mean((x − μ)²) + ε)
//
// The note has no ε, so that a token of equal features is 0/0 (errata S7).
type LayerNormPlain struct {
	Eps   float64
	scope graph.Scope
}

// NewLayerNormPlain declares nothing.
func NewLayerNormPlain(at Site) *LayerNormPlain { return &LayerNormPlain{at.Eps, at.Scope} }

// Forward normalises every row of x.
func (l *LayerNormPlain) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.LayerNorm(x, graph.Expr{}, graph.Expr{}, l.Eps); ok {
		return y
	}
	centred := x.Sub(x.Mean())                                      // x − μ   (n, d)   (27)
	return centred.Div(centred.Square().Mean().Shift(l.Eps).Sqrt()) // (x − μ)/σ (n, d)   (28)
}
