package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Embedding looks up a row of its table for every id: onehot(ids)·w, (n) → (n, d), w (V, d) (2). The gradient of a row
// is the sum of Δ over the positions of its id.
type Embedding struct {
	Weight graph.Expr
	scope  graph.Scope
}

// NewEmbedding declares s.weight (rows, d), drawn from N(0, 0.02²).
func NewEmbedding(s graph.Scope, rows, d int) *Embedding {
	return &Embedding{s.Param("weight", graph.Normal(0.02), rows, d), s}
}

// Forward returns row ids[i] of the table as row i.
func (l *Embedding) Forward(ids graph.Expr) (result graph.Expr) { // (n) → (n, d)
	defer recoverUnbuilt(l, ids, &result)
	table, ids := l.Weight.In(l.scope), ids.In(l.scope)
	if y, ok := graph.Gather(table, ids); ok {
		return y
	}
	return table.Gather(ids)
}
