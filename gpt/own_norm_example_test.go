package gpt_test

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// rmsNorm is x/√(mean(x²) + ε) ∘ w (Zhang and Sennrich 2019).
type rmsNorm struct {
	Weight graph.Expr // (d)
	eps    float64
	scope  graph.Scope
}

func newRMSNorm(at nn.Site) nn.Layer {
	return &rmsNorm{at.Param("weight", graph.Const(1), at.Embd), at.Eps, at.Scope}
}

func (l *rmsNorm) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, d)
	x = x.In(l.scope)
	return x.Div(x.Square().Mean().Shift(l.eps).Sqrt()).Mul(l.Weight)
}

// RMSNorm in place of every layer normalisation.
func ExampleConfig_ownNorm() {
	c := small()
	c.Norm, c.Parts.Norms = "rmsnorm", []parts.Norm{{Name: "rmsnorm", New: newRMSNorm}}
	trains(c)
	// Output: the loss falls, and it writes
}
