package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// LayerNorm centres and scales every token over its d features, then applies a gain and a shift (36)–(38):
//
//	y = (x − μ)/σ ∘ w̃ + b̃,  σ = √(mean((x − μ)²) + ε)
//
// ε is inside the root, as in GPT-2; the paper has none (errata B5b), and at the scale of GPT-2's embeddings leaving it
// out changes the gradient by a tenth. A model without biases has no b̃.
type LayerNorm struct {
	Weight, Bias graph.Expr // w̃, b̃  (1, d)
	Eps          float64
	scope        graph.Scope
}

// NewLayerNorm declares weight, which starts at 1, and, if the site has biases, bias, which starts at 0.
func NewLayerNorm(at Site) *LayerNorm {
	l := &LayerNorm{scope: at.Scope, Eps: at.Eps, Weight: at.Param("weight", graph.Const(1), at.Embd)}
	if at.Bias {
		l.Bias = at.Param("bias", graph.Const(0), at.Embd)
	}
	return l
}

// Forward normalises every row of x.
func (l *LayerNorm) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.LayerNorm(x, l.Weight, l.Bias, l.Eps); ok {
		return y
	}
	centred := x.Sub(x.Mean())                           // x − μ       (n, d)
	sigma := centred.Square().Mean().Shift(l.Eps).Sqrt() // σ           (n, 1)
	norm := centred.Div(sigma)                           // ā           (n, d)   (36)
	y := norm.Mul(l.Weight)                              // ā ∘ w̃       (n, d)
	if l.Bias.Graph() != nil {
		y = y.Add(l.Bias) // ā ∘ w̃ + b̃   (n, d)   (38)
	}
	return y
}
