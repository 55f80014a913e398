package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// inProjection is the affine layer before the heads: x·w + b is the queries of all heads and the keys and values of all
// groups side by side. Queries and keys are rotated if positions are rotary.
type inProjection struct {
	affine Layer
	heads  graph.AttentionShape
	rotary Rotary
	scope  graph.Scope
}

// newInProjection declares name (d, H·dρ+G(dρ+dh)), for the keys and values of G groups of heads.
func newInProjection(at Site, name string, sizes graph.AttentionShape, bias bool) *inProjection {
	q, k, v := sizes.Heads*sizes.QK, sizes.Groups*sizes.QK, sizes.Groups*sizes.V
	affine := at.affine(name, at.Embd, []int{q, k, v}, bias, graph.Normal(0.02))
	return &inProjection{affine, sizes, at.Rotary, at.Scope}
}

// Forward returns [q | k | v].
func (l *inProjection) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, H·dρ+G(dρ+dh))
	qkv := l.affine.Forward(x).In(l.scope)
	if l.rotary == nil {
		return qkv
	}
	return l.rotary.Rotate(qkv, l.heads.Heads+l.heads.Groups, l.heads.QK).In(l.scope)
}

// split splits one block of columns of packed projections into heads.
func split(qkv graph.Expr, h graph.AttentionShape, from, size int) graph.Expr { // → (B, H, T, size)
	return qkv.Cols(from, from+h.Heads*size).Reshape(h.Batch, h.Context, h.Heads, size).Transpose(0, 2, 1, 3)
}

// outProjection is the affine layer after the heads, with dropout.
type outProjection struct {
	affine Layer
	drop   *Dropout
}

// newOutProjection declares c_proj (H·dh, d).
func newOutProjection(at Site) *outProjection {
	affine := at.affine("c_proj", at.Heads*at.V, []int{at.Embd}, at.Bias, residual(at))
	return &outProjection{affine, NewDropout(at.At("resid_dropout"))}
}

// Forward returns x·w + b after dropout.
func (l *outProjection) Forward(heads graph.Expr) graph.Expr { // (n, H·dh) → (n, d)
	return l.drop.Forward(l.affine.Forward(heads))
}
