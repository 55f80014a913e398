package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// SandwichBlock is a block with a norm before and after each sublayer, as in Gemma 2:
//
//	u = x + norm₁'(attention(norm₁(x))),  y = u + norm₂'(mlp(norm₂(u)))
//
// A stack of these blocks ends with one more norm.
type SandwichBlock struct {
	Ln1, Attn, Ln1Post Layer
	Ln2, Mlp, Ln2Post  Layer

	attnStream, mlpStream joint
	scope                 graph.Scope
}

// NewSandwichBlock declares ln_1, attn, ln_1_post, ln_2, mlp and ln_2_post.
func NewSandwichBlock(at Site, attention Attention) *SandwichBlock {
	return &SandwichBlock{
		at.norm("ln_1"), at.attention(attention), at.norm("ln_1_post"),
		at.norm("ln_2"), at.mlp(), at.norm("ln_2_post"),
		at.join("attn"), at.join("mlp"), at.Scope,
	}
}

// Forward computes the two residual steps.
func (b *SandwichBlock) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, In(b.scope, "attn", b.Attn), In(b.scope, "mlp", b.Mlp))
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (b *SandwichBlock) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, stepAt(b.scope, "attn", b.Attn, at), newest(b.scope, "mlp", b.Mlp, at))
}

func (b *SandwichBlock) forward(x graph.Expr, attend, mlp func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	norm1, post1 := In(b.scope, "ln_1", b.Ln1), In(b.scope, "ln_1_post", b.Ln1Post)
	norm2, post2 := In(b.scope, "ln_2", b.Ln2), In(b.scope, "ln_2_post", b.Ln2Post)
	x = x.In(b.scope)
	x = b.attnStream.write(x, post1(attend(norm1(b.attnStream.read(x))))) // u = x + norm(attention(norm(x)))   (n, d)
	return b.mlpStream.write(x, post2(mlp(norm2(b.mlpStream.read(x)))))   // y = u + norm(mlp(norm(u)))         (n, d)
}

// PostPartBlock is a block that normalises the result of each sublayer, as in OLMo 2:
//
//	u = x + norm₁(attention(x)),  y = u + norm₂(mlp(u))
//
// Its residual stream is not normalised, so a stack of these blocks ends with one more norm.
type PostPartBlock Block

// NewPostPartBlock declares the same names as NewBlock.
func NewPostPartBlock(at Site, attention Attention) *PostPartBlock {
	b := PostPartBlock(*NewBlock(at, attention))
	return &b
}

// Forward computes the two residual steps.
func (b *PostPartBlock) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, In(b.scope, "attn", b.Attn), In(b.scope, "mlp", b.Mlp))
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (b *PostPartBlock) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, stepAt(b.scope, "attn", b.Attn, at), newest(b.scope, "mlp", b.Mlp, at))
}

func (b *PostPartBlock) forward(x graph.Expr, attend, mlp func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	norm1, norm2 := In(b.scope, "ln_1", b.Ln1), In(b.scope, "ln_2", b.Ln2)
	x = x.In(b.scope)
	x = b.attnStream.write(x, norm1(attend(b.attnStream.read(x)))) // u = x + norm(attention(x))   (n, d)
	return b.mlpStream.write(x, norm2(mlp(b.mlpStream.read(x))))   // y = u + norm(mlp(u))         (n, d)
}

// ParallelBlock is a block whose sublayers read the same normalised tokens, as in GPT-J:
//
//	y = x + attention(norm(x)) + mlp(norm(x))
//
// A stack of these blocks ends with one more norm.
type ParallelBlock struct {
	Ln1, Attn, Mlp Layer
	stream         joint
	scope          graph.Scope
}

// NewParallelBlock declares ln_1, attn and mlp.
func NewParallelBlock(at Site, attention Attention) *ParallelBlock {
	return &ParallelBlock{at.norm("ln_1"), at.attention(attention), at.mlp(), at.join("attn"), at.Scope}
}

// Forward computes the residual step.
func (b *ParallelBlock) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, In(b.scope, "attn", b.Attn), In(b.scope, "mlp", b.Mlp))
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (b *ParallelBlock) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, stepAt(b.scope, "attn", b.Attn, at), newest(b.scope, "mlp", b.Mlp, at))
}

func (b *ParallelBlock) forward(x graph.Expr, attend, mlp func(graph.Expr) graph.Expr) graph.Expr { // (n, d) → (n, d)
	x = x.In(b.scope)
	h := In(b.scope, "ln_1", b.Ln1)(b.stream.read(x))
	return b.stream.write(x, attend(h), mlp(h))
}

// ParallelTwoBlock is a parallel block with a norm for each sublayer, as in GPT-NeoX:
//
//	y = x + attention(norm₁(x)) + mlp(norm₂(x))
//
// A stack of these blocks ends with one more norm.
type ParallelTwoBlock Block

// NewParallelTwoBlock declares the same names as NewBlock.
func NewParallelTwoBlock(at Site, attention Attention) *ParallelTwoBlock {
	b := ParallelTwoBlock(sublayers(at, attention))
	b.attnStream = at.join("attn")
	return &b
}

// Forward computes the residual step.
func (b *ParallelTwoBlock) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, In(b.scope, "attn", b.Attn), In(b.scope, "mlp", b.Mlp))
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (b *ParallelTwoBlock) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(b, x, &result)
	return b.forward(x, stepAt(b.scope, "attn", b.Attn, at), newest(b.scope, "mlp", b.Mlp, at))
}

// forward maps (n, d) → (n, d).
func (b *ParallelTwoBlock) forward(x graph.Expr, attend, mlp func(graph.Expr) graph.Expr) graph.Expr {
	norm1, norm2 := In(b.scope, "ln_1", b.Ln1), In(b.scope, "ln_2", b.Ln2)
	x = x.In(b.scope)
	h := b.attnStream.read(x)
	return b.attnStream.write(x, attend(norm1(h)), mlp(norm2(h)))
}
