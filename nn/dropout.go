package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Dropout is inverted dropout, y = x∘mask/(1 − p). In training, every entry of the mask is 0 with probability p; in
// evaluation, y = x. Diab leaves out 1/(1 − p) (errata D4). The mask depends only on the graph's seed, the place, the
// step and the entry.
type Dropout struct {
	P     float64
	scope graph.Scope
}

// NewDropout returns a layer that drops entries with the site's probability.
func NewDropout(at Site) *Dropout { return &Dropout{at.Dropout, at.Scope} }

// Forward drops entries of x.
func (l *Dropout) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	return x.In(l.scope).Dropout(l.P)
}
