package parts

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Body holds the layers of a model between its ids and its head: embeddings, blocks, and a final norm.
type Body struct {
	Embeddings *Embeddings
	Blocks     []nn.Layer
	Future     []nn.Layer // blocks beside the last one, for multi-token prediction

	norm  nn.Layer // nil after post-norm blocks, whose result is normalised
	scope graph.Scope

	stack  Stack
	rotary nn.Rotary // of the positions; optional, but a layer that gets it must use it
	biases *biases   // likewise
	uses   []*uses   // by the blocks of each attention
	stream nn.Stream
	skips  []nn.Layer // of the stream, before every block; nil for none

	balance *nn.Balance // collects the losses that balance experts; nil without
	loads   *nn.Loads   // collects the loads of experts
}

// Body builds the layers of d at a site of Design.Site. It passes the site, with the rotation and biases of the
// positions, to inner, which builds the blocks' mask and returns the function that builds each block.
func (d Design) Body(
	at nn.Site, vocabulary int, inner func(root nn.Site) (*nn.Mask, func(nn.Site) nn.Layer),
) *Body {
	s := d.Stack
	b := &Body{Embeddings: d.Embeddings(at, vocabulary), scope: at.Scope, stack: s}
	if b.stream = at.Stream.Stream; b.stream == nil {
		b.stream = nn.PlainStream{}
	}
	b.balance, b.loads = at.Experts.Balance, at.Experts.Loads
	p := b.Embeddings.Placement
	b.rotary, at.Rotary = p.Rotary, p.Rotary
	if p.Scores != nil {
		b.biases = &biases{of: p.Scores}
		at.Scores = b.biases
	}
	for _, name := range s.Attentions() {
		b.uses = append(b.uses, &uses{attention: name})
	}
	near, wide := localRotary(at, s), s.Options.Get("full_attention_interval")
	mask, block := inner(at)
	at.Mask = mask
	joins, joined := d.joins(), false
	if at.Stream.Stream != nil {
		at.Stream.Stream = watchedStream{at.Stream.Stream, &joined}
	}
	kind := func(i, name int) nn.Site { // the site of a block like block i
		at := at.At(fmt.Sprintf("h.%d", name))
		at.Block = i
		if near != nil && !isNth(wide, i) {
			at.Rotary = near
		}
		if isNth(s.Rope.NoRopeLayerInterval, i) {
			at.Rotary = nil
		}
		return b.uses[slices.Index(s.Attentions(), s.AttentionOf(i))].watched(at)
	}
	for i := range s.NLayer {
		if at.Graph().Err() != nil {
			break // the model is invalid, and there may be very many blocks
		}
		at := kind(i, i)
		b.skips = append(b.skips, b.stream.Skip(at))
		b.Blocks = append(b.Blocks, nn.Make(at, block))
	}
	for i := range d.Future {
		at := kind(s.NLayer-1, s.NLayer+i)
		at.Caches = nil // no Step
		b.Future = append(b.Future, nn.Make(at, block))
	}
	if joins && !joined && at.Graph().Err() == nil {
		at.Failf("%s: got %s, and block %s joins no sublayer to the residual stream: want a block that does, "+
			"such as pre, or %s %s", at.Stream.Name, s.With.Get(at.Stream.Name), s.Block, at.Stream.Name, noPart)
	}
	for _, u := range b.uses { // before Forward, where other blocks would miss the values of the first
		if err := u.checkLinks(s, d.kinds); err != nil && at.Graph().Err() == nil {
			at.Failf("%v", err)
		}
	}
	if d.Block.Final {
		b.norm = nn.Make(at.At("ln_f"), at.Norm)
	}
	return b
}

// Forward computes the residual stream after the last block.
func (b *Body) Forward(tokens graph.Expr) graph.Expr { // (n) → (n, d)
	return b.Heads(tokens)[0]
}

// Heads returns the result of the last block, and the results of the blocks beside it, which have the same input.
func (b *Body) Heads(tokens graph.Expr) (results []graph.Expr) { // (n) → (n, d) each
	var input graph.Expr // of the last block
	result := b.through(b.Embeddings.Forward(tokens), func(name string, block nn.Layer, x graph.Expr) graph.Expr {
		input = x
		return nn.In(b.scope, name, block)(x) // a₂ … a₁₀
	})
	results = append(results, result)
	for i, block := range b.Future {
		results = append(results, nn.In(b.scope, fmt.Sprintf("h.%d", len(b.Blocks)+i), block)(input))
	}
	return results
}

// Step is Forward for the newest tokens of every sequence, the first of them at position at. All blocks must be cached.
func (b *Body) Step(tokens, at graph.Expr) graph.Expr { // (B·n) → (B·n, d)
	return b.through(b.Embeddings.Step(tokens, at), func(name string, block nn.Layer, x graph.Expr) graph.Expr {
		return b.scope.Place(name, block.(nn.Cached).Step(x, at))
	})
}

// through passes x, which is a₁, through the blocks and the skips before them.
func (b *Body) through(x graph.Expr, apply func(name string, block nn.Layer, x graph.Expr) graph.Expr) graph.Expr {
	x = b.stream.Expand(x)
	for i, block := range b.Blocks {
		name := fmt.Sprintf("h.%d", i)
		if skip := b.skips[i]; skip != nil {
			if y := skip.Forward(x); y.Node() != x.Node() {
				x = b.scope.Place(name+".skip", y)
			}
		}
		x = apply(name, block, x)
	}
	return x
}

// Loads returns the loads of the experts of every block with a mixture, in the passes so far.
func (b *Body) Loads() []nn.Load { return b.loads.List() }

// Balanced returns loss plus α times the losses that balance the experts of the blocks in the passes so far.
func (b *Body) Balanced(loss graph.Expr) graph.Expr {
	balance, ok := b.balance.Loss()
	if !ok {
		return loss
	}
	s := b.scope.Sub("balance")
	return loss.In(s).Add(balance.In(s).Scale(b.stack.Experts.RouterAuxLossCoef))
}

// Normed returns a₁₁: the residual stream of Forward or Step, reduced to (n, d), after the last norm.
func (b *Body) Normed(x graph.Expr) graph.Expr { return b.NormedIn(b.scope, x) }

// NormedIn is Normed whose result is a place in s.
func (b *Body) NormedIn(s graph.Scope, x graph.Expr) graph.Expr {
	if x = b.stream.Reduce(x); b.norm == nil {
		return x
	}
	return nn.In(s, "ln_f", b.norm)(x)
}

// Places returns the positions 0 … size−1 of every sequence.
func Places(s graph.Scope, batch, size int) graph.Expr {
	p := s.Ints("positions", batch*size, size, graph.NoneIgnored)
	for i := range p.Ints() {
		p.Ints()[i] = i % size
	}
	return p
}
