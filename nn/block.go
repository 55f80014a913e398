package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Block is a transformer block with the norm before each sublayer (pre-norm), as in GPT-2 and in Table 2:
//
//	u = x + attention(norm₁(x)),  y = u + mlp(norm₂(u))
//
// A stack of these ends with one more norm.
type Block struct {
	Ln1, Attn, Ln2, Mlp Layer
	scope               graph.Scope
}

// NewBlock declares ln_1, attn, ln_2 and mlp.
func NewBlock(at Site, attention Attention) *Block {
	return &Block{at.norm("ln_1"), attention(at.At("attn")), at.norm("ln_2"), at.mlp(), at.Scope}
}

// Forward is the two residual steps.
func (b *Block) Forward(x graph.Expr) graph.Expr { return b.forward(x, b.Attn.Forward) }

// Step is Forward for the newest tokens of every sequence.
func (b *Block) Step(x, at graph.Expr) graph.Expr {
	return b.forward(x, stepAt(b.scope, b.Attn, at))
}

func (b *Block) forward(x graph.Expr, attend func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	x = x.In(b.scope)
	x = x.Add(attend(b.Ln1.Forward(x)))           // a₅ = a₁ + attention(norm(a₁))   (n, d)
	return x.Add(b.Mlp.Forward(b.Ln2.Forward(x))) // a₁₀ = a₅ + mlp(norm(a₅))        (n, d)
}

// PostNormBlock is a block with the norm after each sublayer, as the transformer was first published:
//
//	u = norm₁(x + attention(x)),  y = norm₂(u + mlp(u))
//
// Its result is normalised already, so a stack of these needs no norm at its end.
type PostNormBlock Block

// NewPostNormBlock declares the same names as NewBlock.
func NewPostNormBlock(at Site, attention Attention) *PostNormBlock {
	b := PostNormBlock(*NewBlock(at, attention))
	return &b
}

// Forward is the two residual steps.
func (b *PostNormBlock) Forward(x graph.Expr) graph.Expr { return b.forward(x, b.Attn.Forward) }

// Step is Forward for the newest tokens of every sequence.
func (b *PostNormBlock) Step(x, at graph.Expr) graph.Expr {
	return b.forward(x, stepAt(b.scope, b.Attn, at))
}

func (b *PostNormBlock) forward(x graph.Expr, attend func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	x = x.In(b.scope)
	x = b.Ln1.Forward(x.Add(attend(x)))                       // u = norm(x + attention(x))   (n, d)
	return b.Ln2.Forward(x.In(b.scope).Add(b.Mlp.Forward(x))) // y = norm(u + mlp(u))         (n, d)
}
