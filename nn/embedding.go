package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Embedding looks up a row of its table for every id: onehot(ids)·w, (n) → (n, d), w (V, d) (2). The gradient of a row
// is the sum of Δ over the positions of its id.
type Embedding struct {
	Weight graph.Expr
	scope  graph.Scope
}

// NewEmbedding declares s.weight (rows, d), drawn from N(0, 0.02²).
func NewEmbedding(s graph.Scope, rows, d int) *Embedding {
	return &Embedding{s.Table("weight", graph.Normal(0.02), rows, d), s}
}

// Forward returns row ids[i] of the table as row i.
func (l *Embedding) Forward(ids graph.Expr) (result graph.Expr) { // (n) → (n, d)
	defer recoverUnbuilt(l, ids, &result)
	table, ids := l.Weight.In(l.scope), ids.In(l.scope)
	if y, ok := fused.Gather(table, ids); ok {
		return y
	}
	return table.Gather(ids)
}

// MeanTokens is the mean of the tokens of each sequence, mean pooling, to represent the entire sequence:
//
//	y_b = 1/T Σ_t x_bt
//
// Padding counts as any other token.
type MeanTokens struct {
	Dims
	scope graph.Scope
}

// NewMeanTokens declares nothing.
func NewMeanTokens(at Site) *MeanTokens { return &MeanTokens{at.Dims, at.Scope} }

// Forward returns the mean over the tokens.
func (l *MeanTokens) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.MeanTokens(x, l.Batch); ok {
		return y
	}
	features := x.Reshape(l.Batch, l.Context, l.Embd).Transpose(0, 2, 1) // (B, d, T)
	return features.Mean().Reshape(l.Batch, l.Embd)                      // (B, d)
}

// GatherTokens selects one token of each sequence, such as the first or the last, to represent the entire sequence:
//
//	y_b = x_b,at(b)
type GatherTokens struct {
	At graph.Expr // (B) index of the token in each sequence
	Dims
	scope graph.Scope
}

// NewGatherTokens takes the indices from at, a result of Scope.Ints or Expr.ArgMax.
func NewGatherTokens(s Site, at graph.Expr) *GatherTokens { return &GatherTokens{at, s.Dims, s.Scope} }

// Forward returns row b·T + at(b) of x for every sequence b.
func (l *GatherTokens) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.GatherTokens(x, l.At); ok {
		return y
	}
	pick := l.At.OneHot(l.Context).Reshape(l.Batch, 1, l.Context) // 1 at that token, or 0   (B, 1, T)
	return pick.MatMul(x.Reshape(l.Batch, l.Context, l.Embd)).Reshape(l.Batch, l.Embd)
}

// Tied is the head that shares its weight with the token embedding: y = x·wᵀ, (n, d) → (n, V), w (V, d). The gradient
// of w is the sum of the head's and the embedding's.
type Tied struct {
	Weight graph.Expr
	scope  graph.Scope
}

// NewTied uses the embedding's weight at s and declares nothing.
func NewTied(s graph.Scope, e *Embedding) *Tied {
	if e == nil {
		s.Failf("no embedding whose weight to share")
		return &Tied{scope: s}
	}
	return &Tied{e.Weight, s}
}

// Forward returns x·wᵀ.
func (l *Tied) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, V)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.LinearT(x, l.Weight); ok {
		return y
	}
	return x.MatMulT(l.Weight)
}
