package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// RMSNorm scales every token by the root of the mean of its squares, and applies a gain (Zhang and Sennrich 2019):
//
//	y = x/rms ∘ w̃,  rms = √(mean(x²) + ε)
//
// It is LayerNorm without a mean and without a shift: it has no bias, even in a model with biases. ε is inside the
// root, as in published models with this norm.
type RMSNorm struct {
	Weight graph.Expr // w̃  (1, d)
	Eps    float64
	scope  graph.Scope
}

// NewRMSNorm declares weight, which starts at 1.
func NewRMSNorm(at Site) *RMSNorm {
	return &RMSNorm{at.Param("weight", graph.Const(1), at.Embd), at.Eps, at.Scope}
}

// Forward scales every row of x.
func (l *RMSNorm) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.RMSNorm(x, l.Weight, l.Eps); ok {
		return y
	}
	rms := x.Square().Mean().Shift(l.Eps).Sqrt() // rms         (n, 1)
	return x.Div(rms).Mul(l.Weight)              // x/rms ∘ w̃   (n, d)
}
