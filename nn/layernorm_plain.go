package nn

import "github.com/pedestrian-ml/pedestrian/graph"

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
	if y, ok := graph.LayerNorm(x, graph.Expr{}, graph.Expr{}, l.Eps); ok {
		return y
	}
	centred := x.Sub(x.Mean())                                      // x − μ   (n, d)   (27)
	return centred.Div(centred.Square().Mean().Shift(l.Eps).Sqrt()) // (x − μ)/σ (n, d)   (28)
}
