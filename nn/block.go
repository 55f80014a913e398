package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Block is a transformer block with the norm before each sublayer (pre-norm), as in GPT-2 and in Table 2:
//
//	u = x + attention(norm₁(x)),  y = u + mlp(norm₂(u))
//
// A stack of these blocks ends with one more norm.
type Block struct {
	Ln1, Attn, Ln2, Mlp   Layer
	attnStream, mlpStream joint
	scope                 graph.Scope
}

// NewBlock declares ln_1, attn, ln_2 and mlp.
func NewBlock(at Site, attention Attention) *Block {
	b := sublayers(at, attention)
	b.attnStream, b.mlpStream = at.join("attn"), at.join("mlp")
	return &b
}

// sublayers returns a block that has not joined the stream.
func sublayers(at Site, attention Attention) Block {
	return Block{
		Ln1: at.norm("ln_1"), Attn: at.attention(attention), Ln2: at.norm("ln_2"), Mlp: at.mlp(), scope: at.Scope,
	}
}

// Forward computes the two residual steps.
func (b *Block) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, In(b.scope, "attn", b.Attn), In(b.scope, "mlp", b.Mlp))
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (b *Block) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, stepAt(b.scope, "attn", b.Attn, at), newest(b.scope, "mlp", b.Mlp, at))
}

func (b *Block) forward(x graph.Expr, attend, mlp func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	norm1, norm2 := In(b.scope, "ln_1", b.Ln1), In(b.scope, "ln_2", b.Ln2)
	x = x.In(b.scope)
	x = b.attnStream.write(x, attend(norm1(b.attnStream.read(x)))) // a₅ = a₁ + attention(norm(a₁))   (n, d)
	return b.mlpStream.write(x, mlp(norm2(b.mlpStream.read(x))))   // a₁₀ = a₅ + mlp(norm(a₅))        (n, d)
}

// PostNormBlock is a block with the norm after each sublayer, as the transformer was first published:
//
//	u = norm₁(x + attention(x)),  y = norm₂(u + mlp(u))
//
// Its result is already normalised, so a stack of these blocks needs no norm at its end.
type PostNormBlock Block

// NewPostNormBlock declares the same names as NewBlock.
func NewPostNormBlock(at Site, attention Attention) *PostNormBlock {
	at.refuseStream("post-norm block")
	b := PostNormBlock(sublayers(at, attention))
	return &b
}

// Forward computes the two residual steps.
func (b *PostNormBlock) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, In(b.scope, "attn", b.Attn), In(b.scope, "mlp", b.Mlp))
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (b *PostNormBlock) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, stepAt(b.scope, "attn", b.Attn, at), newest(b.scope, "mlp", b.Mlp, at))
}

func (b *PostNormBlock) forward(x graph.Expr, attend, mlp func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	norm1, norm2 := In(b.scope, "ln_1", b.Ln1), In(b.scope, "ln_2", b.Ln2)
	x = x.In(b.scope)
	x = norm1(x.Add(attend(x)))             // u = norm(x + attention(x))   (n, d)
	return norm2(x.In(b.scope).Add(mlp(x))) // y = norm(u + mlp(u))         (n, d)
}

// norm builds the named norm.
func (s Site) norm(name string) Layer {
	if s.Norm == nil {
		return NewLayerNorm(s.At(name))
	}
	return Make(s.At(name), s.Norm)
}

// attention builds the attention of a block, after the site's short convolution.
func (s Site) attention(build Attention) Layer { return s.At("attn").after(ConvAttention, build) }

// mlp builds the MLP of a block, after the site's short convolution.
func (s Site) mlp() Layer {
	build := s.MLP
	if build == nil {
		build = func(at Site) Layer { return NewMLP(at) }
	}
	return s.At("mlp").after(ConvMLP, build)
}
