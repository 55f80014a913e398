package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// inProjection is the affine layer in front of the heads: x·w + b is the queries, keys and values of all heads side by
// side, the first two rotated where positions are rotary.
type inProjection struct {
	affine Layer
	heads  graph.AttentionShape
	rotary Rotary
	scope  graph.Scope
}

// newInProjection declares name (d, H(2dρ+dh)).
func newInProjection(at Site, name string) *inProjection {
	qk, v := at.Heads*at.QK, at.Heads*at.V
	affine := at.affine(name, at.Embd, []int{qk, qk, v}, at.Bias, graph.Normal(0.02))
	return &inProjection{affine, at.heads(at.QK, at.V), at.Rotary, at.Scope}
}

// Forward is [q | k | v].
func (l *inProjection) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, H(2dρ+dh))
	qkv := l.affine.Forward(x).In(l.scope)
	if l.rotary == nil {
		return qkv
	}
	return l.rotary.Rotate(qkv, 2*l.heads.Heads, l.heads.QK).In(l.scope)
}

// split takes one block of columns of packed projections apart into heads.
func split(qkv graph.Expr, h graph.AttentionShape, from, size int) graph.Expr { // → (B, H, T, size)
	return qkv.Cols(from, from+h.Heads*size).Reshape(h.Batch, h.Context, h.Heads, size).Transpose(0, 2, 1, 3)
}

// outProjection is the affine layer behind the heads, and dropout.
type outProjection struct {
	affine Layer
	drop   *Dropout
}

// newOutProjection declares c_proj (H·dh, d).
func newOutProjection(at Site) *outProjection {
	affine := at.affine("c_proj", at.Heads*at.V, []int{at.Embd}, at.Bias, residual(at))
	return &outProjection{affine, NewDropout(at.At("resid_dropout"))}
}

// Forward is x·w + b, then dropout.
func (l *outProjection) Forward(heads graph.Expr) graph.Expr { // (n, H·dh) → (n, d)
	return l.drop.Forward(l.affine.Forward(heads))
}
