package parts_test

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// scaleNorm is s·x/√(Σ x² + ε) with one number s for all features (Nguyen and Salazar 2019).
type scaleNorm struct {
	Weight graph.Expr // s  (1, 1)
	eps    float64
	scope  graph.Scope
}

func newScaleNorm(at nn.Site) nn.Layer {
	return &scaleNorm{at.Param("weight", graph.Const(math.Sqrt(float64(at.Embd))), 1, 1), at.Eps, at.Scope}
}

func (l *scaleNorm) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, d)
	x = x.In(l.scope)
	return x.Div(x.Square().Sum().Shift(l.eps).Sqrt()).Mul(l.Weight)
}

// ScaleNorm in place of every layer normalisation.
func ExampleRegistry_ownNorm() {
	c := small()
	c.Norm, c.Parts.Norms = "scalenorm", []parts.Norm{{Name: "scalenorm", New: newScaleNorm}}
	trains(c)
	// Output: the loss falls, and it writes
}
