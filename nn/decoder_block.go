package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// DecoderBlock is a block of an encoder–decoder's decoder, with the norm before each sublayer:
//
//	u = x + attention(norm₁(x)),  v = u + cross(norm_c(u), z),  y = v + mlp(norm₂(v))
//
// The tokens of the target attend to those before them, then to the encoder's final output z, which every block of the
// decoder receives (Conti chapter 1; CS 224n (33)–(36)). A stack of these blocks ends with one more norm.
type DecoderBlock struct {
	Ln1, Attn Layer
	LnCross   Layer
	Cross     *CrossAttention
	Ln2, Mlp  Layer

	attnStream, crossStream, mlpStream joint
	scope                              graph.Scope
}

// NewDecoderBlock declares ln_1, attn, ln_cross, cross, ln_2 and mlp.
func NewDecoderBlock(at Site, attention Attention, m *Memory) *DecoderBlock {
	b := decoderSublayers(at, attention, m)
	b.attnStream, b.crossStream, b.mlpStream = at.join("attn"), at.join("cross"), at.join("mlp")
	return &b
}

// decoderSublayers returns a block that has not joined the stream.
func decoderSublayers(at Site, attention Attention, m *Memory) DecoderBlock {
	return DecoderBlock{
		Ln1: at.norm("ln_1"), Attn: at.attention(attention),
		LnCross: at.norm("ln_cross"), Cross: NewCrossAttention(at.At("cross"), m),
		Ln2: at.norm("ln_2"), Mlp: at.mlp(),
		scope: at.Scope,
	}
}

// Forward computes the three residual steps.
func (b *DecoderBlock) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	attend, mlp := In(b.scope, "attn", b.Attn), In(b.scope, "mlp", b.Mlp)
	return b.forward(x, attend, In(b.scope, "cross", b.Cross), mlp)
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (b *DecoderBlock) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	attend, mlp := stepAt(b.scope, "attn", b.Attn, at), newest(b.scope, "mlp", b.Mlp, at)
	return b.forward(x, attend, stepAt(b.scope, "cross", b.Cross, at), mlp)
}

// forward maps (n, d) → (n, d).
func (b *DecoderBlock) forward(x graph.Expr, attend, cross, mlp func(graph.Expr) graph.Expr) graph.Expr {
	norm1, normC := In(b.scope, "ln_1", b.Ln1), In(b.scope, "ln_cross", b.LnCross)
	norm2 := In(b.scope, "ln_2", b.Ln2)
	x = x.In(b.scope)
	x = b.attnStream.write(x, attend(norm1(b.attnStream.read(x))))  // u = x + attention(norm₁(x))   (n, d)
	x = b.crossStream.write(x, cross(normC(b.crossStream.read(x)))) // v = u + cross(norm_c(u), z)   (n, d)
	return b.mlpStream.write(x, mlp(norm2(b.mlpStream.read(x))))    // y = v + mlp(norm₂(v))         (n, d)
}

// PostNormDecoderBlock is a DecoderBlock with the norm after each sublayer, as the transformer was first published and
// as in Conti:
//
//	u = norm₁(x + attention(x)),  v = norm_c(u + cross(u, z)),  y = norm₂(v + mlp(v))
//
// Its result is already normalised, so a stack of these blocks needs no norm at its end. Conti's norm divides by σ + ε
// (errata C3): set the site's Norm to NewLayerNormSigma for it.
type PostNormDecoderBlock DecoderBlock

// NewPostNormDecoderBlock declares the same names as NewDecoderBlock.
func NewPostNormDecoderBlock(at Site, attention Attention, m *Memory) *PostNormDecoderBlock {
	at.refuseStream("post-norm decoder block")
	b := PostNormDecoderBlock(decoderSublayers(at, attention, m))
	return &b
}

// Forward computes the three residual steps.
func (b *PostNormDecoderBlock) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	attend, mlp := In(b.scope, "attn", b.Attn), In(b.scope, "mlp", b.Mlp)
	return b.forward(x, attend, In(b.scope, "cross", b.Cross), mlp)
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (b *PostNormDecoderBlock) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	attend, mlp := stepAt(b.scope, "attn", b.Attn, at), newest(b.scope, "mlp", b.Mlp, at)
	return b.forward(x, attend, stepAt(b.scope, "cross", b.Cross, at), mlp)
}

// forward maps (n, d) → (n, d).
func (b *PostNormDecoderBlock) forward(x graph.Expr, attend, cross, mlp func(graph.Expr) graph.Expr) graph.Expr {
	norm1, normC := In(b.scope, "ln_1", b.Ln1), In(b.scope, "ln_cross", b.LnCross)
	norm2 := In(b.scope, "ln_2", b.Ln2)
	x = x.In(b.scope)
	x = norm1(x.Add(attend(x))).In(b.scope) // u = norm₁(x + attention(x))   (n, d)
	x = normC(x.Add(cross(x))).In(b.scope)  // v = norm_c(u + cross(u, z))   (n, d)
	return norm2(x.Add(mlp(x)))             // y = norm₂(v + mlp(v))         (n, d)
}
