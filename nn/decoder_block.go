package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// DecoderBlock is the block of an encoder–decoder's decoder, with the norm before each sublayer:
//
//	u = x + attention(norm₁(x)),  v = u + cross(norm_c(u), z),  y = v + mlp(norm₂(v))
//
// The tokens of the target look at those before them, then at the encoder's final output z, which every block of the
// decoder is given (Conti chapter 1; CS 224n (33)–(36)). A stack of these ends with a norm of its own.
type DecoderBlock struct {
	Ln1, Attn Layer
	LnCross   Layer
	Cross     *CrossAttention
	Ln2, Mlp  Layer
	scope     graph.Scope
}

// NewDecoderBlock declares ln_1, attn, ln_cross, cross, ln_2 and mlp.
func NewDecoderBlock(at Site, attention Attention, m *Memory) *DecoderBlock {
	return &DecoderBlock{
		Ln1: at.norm("ln_1"), Attn: attention(at.At("attn")),
		LnCross: at.norm("ln_cross"), Cross: NewCrossAttention(at.At("cross"), m),
		Ln2: at.norm("ln_2"), Mlp: at.mlp(),
		scope: at.Scope,
	}
}

// Forward is the three residual steps.
func (b *DecoderBlock) Forward(x graph.Expr) graph.Expr {
	return b.forward(x, b.Attn.Forward, b.Cross.Forward)
}

// Step is Forward for the newest tokens of every sequence.
func (b *DecoderBlock) Step(x, at graph.Expr) graph.Expr {
	return b.forward(x, stepAt(b.scope, b.Attn, at), stepAt(b.scope, b.Cross, at))
}

func (b *DecoderBlock) forward(x graph.Expr, attend, cross func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	x = x.In(b.scope)
	x = x.Add(attend(b.Ln1.Forward(x)))           // u = x + attention(norm₁(x))   (n, d)
	x = x.Add(cross(b.LnCross.Forward(x)))        // v = u + cross(norm_c(u), z)   (n, d)
	return x.Add(b.Mlp.Forward(b.Ln2.Forward(x))) // y = v + mlp(norm₂(v))         (n, d)
}
