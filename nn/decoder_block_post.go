package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// PostNormDecoderBlock is a DecoderBlock with the norm after each sublayer, as the transformer was first published and as
// Conti has it:
//
//	u = norm₁(x + attention(x)),  v = norm_c(u + cross(u, z)),  y = norm₂(v + mlp(v))
//
// Its result is normalised already, so a stack of these needs no norm at its end. Conti's norm divides by σ + ε (errata
// C3): give the site's Norm that one for it.
type PostNormDecoderBlock DecoderBlock

// NewPostNormDecoderBlock declares the same names as NewDecoderBlock.
func NewPostNormDecoderBlock(at Site, attention Attention, m *Memory) *PostNormDecoderBlock {
	b := PostNormDecoderBlock(*NewDecoderBlock(at, attention, m))
	return &b
}

// Forward is the three residual steps.
func (b *PostNormDecoderBlock) Forward(x graph.Expr) graph.Expr {
	return b.forward(x, b.Attn.Forward, b.Cross.Forward)
}

// Step is Forward for the newest tokens of every sequence.
func (b *PostNormDecoderBlock) Step(x, at graph.Expr) graph.Expr {
	return b.forward(x, stepAt(b.scope, b.Attn, at), stepAt(b.scope, b.Cross, at))
}

func (b *PostNormDecoderBlock) forward(x graph.Expr, attend, cross func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	x = x.In(b.scope)
	x = b.Ln1.Forward(x.Add(attend(x))).In(b.scope)    // u = norm₁(x + attention(x))   (n, d)
	x = b.LnCross.Forward(x.Add(cross(x))).In(b.scope) // v = norm_c(u + cross(u, z))   (n, d)
	return b.Ln2.Forward(x.Add(b.Mlp.Forward(x)))      // y = norm₂(v + mlp(v))         (n, d)
}
