package nn

import "github.com/pedestrian-ml/pedestrian/graph"

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
	if y, ok := graph.MeanTokens(x, l.Batch); ok {
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
	if y, ok := graph.GatherTokens(x, l.At); ok {
		return y
	}
	pick := l.At.OneHot(l.Context).Reshape(l.Batch, 1, l.Context) // 1 at that token, or 0   (B, 1, T)
	return pick.MatMul(x.Reshape(l.Batch, l.Context, l.Embd)).Reshape(l.Batch, l.Embd)
}
