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
