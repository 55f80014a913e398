package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Dropout is inverted dropout, y = x∘mask/(1 − p) with every entry of the mask 0 with probability p while training, and
// y = x in evaluation. Diab leaves out 1/(1 − p) (errata D4). The mask depends on the graph's seed, the place, the step
// and the entry alone.
type Dropout struct {
	P     float64
	scope graph.Scope
}

// NewDropout drops at the site with its probability.
func NewDropout(at Site) *Dropout { return &Dropout{at.Dropout, at.Scope} }

// Forward drops entries of x.
func (l *Dropout) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer whole(l, x, &result)
	return x.In(l.scope).Dropout(l.P)
}
