package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// DyT is the dynamic tanh, which replaces a norm and computes no statistics (Zhu et al. 2025):
//
//	y = w̃ ∘ tanh(αx) + b̃
//
// α is a learned number. It squeezes the largest features, as LayerNorm does, but treats each of them alone. A model
// without biases has no b̃.
type DyT struct {
	Alpha        graph.Expr // α  (1)
	Weight, Bias graph.Expr // w̃, b̃  (1, d)
	scope        graph.Scope
}

// NewDyT declares alpha, which starts at 0.5, weight, which starts at 1, and, if the site has biases, bias, which
// starts at 0.
func NewDyT(at Site) *DyT {
	l := &DyT{
		Alpha:  at.Param("alpha", graph.Const(0.5), 1),
		Weight: at.Param("weight", graph.Const(1), at.Embd), scope: at.Scope,
	}
	if at.Bias {
		l.Bias = at.Param("bias", graph.Const(0), at.Embd)
	}
	return l
}

// Forward squeezes every feature of x.
func (l *DyT) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	t := x.In(l.scope).Mul(l.Alpha).Tanh() // tanh(αx)           (n, d)
	y := t.Mul(l.Weight)                   // w̃ ∘ tanh(αx)       (n, d)
	if l.Bias.Graph() != nil {
		y = y.Add(l.Bias) // w̃ ∘ tanh(αx) + b̃  (n, d)
	}
	return y
}
