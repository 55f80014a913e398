package nn

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Stream is the residual stream of a model, from its embeddings to its last norm: a table (n, w) of all tokens, or of
// the newest ones in a Step. A model builds one Stream, and calls Expand first in every pass, so that a Stream may hold
// results of a pass for the layers after them. A Stream treats every token by itself. PlainStream implements all
// methods for types that embed it.
type Stream interface {
	// Expand turns the embeddings (n, d) into the stream (n, w).
	Expand(x graph.Expr) graph.Expr
	// Skip returns a layer that the stream passes before the block of a site, (n, w) → (n, w). Nil is none.
	Skip(at Site) Layer
	// Connect returns how a sublayer joins the stream, or nil for x + sublayer(x). The site has a name for the
	// parameters of this sublayer alone.
	Connect(at Site) Connection
	// Reduce turns the stream (n, w) into the input of the last norm (n, d).
	Reduce(x graph.Expr) graph.Expr
}

// Connection joins a sublayer, such as an attention with its norm, to the residual stream x.
type Connection interface {
	// Read returns what the sublayer reads: (n, w) → (n, d).
	Read(x graph.Expr) graph.Expr
	// Write returns the stream after the sublayer, whose results y are to be added: (n, w), (n, d) → (n, w). Read of
	// the same x comes before it.
	Write(x graph.Expr, y ...graph.Expr) graph.Expr
}

// NamedStream is a Stream with its name for errors, such as skips. The zero NamedStream is a PlainStream.
type NamedStream struct {
	Name string
	Stream
}

// PlainStream is the residual stream to which every sublayer adds its result.
type PlainStream struct{}

// Expand returns x.
func (PlainStream) Expand(x graph.Expr) graph.Expr { return x }

// Skip returns nil.
func (PlainStream) Skip(Site) Layer { return nil }

// Connect returns nil.
func (PlainStream) Connect(Site) Connection { return nil }

// Reduce returns x.
func (PlainStream) Reduce(x graph.Expr) graph.Expr { return x }

// joint is the place at which a sublayer joins the stream.
type joint struct {
	Connection // nil for x + sublayer(x)
	block      graph.Scope
	name       string
	width      int // d
}

// join builds the joint of a sublayer of the block at s.
func (s Site) join(sublayer string) joint {
	j := joint{block: s.Scope, name: sublayer + "_stream", width: s.Embd}
	if s.Stream.Stream != nil {
		at := s.At(j.name)
		at.Try(func() { j.Connection = s.Stream.Connect(at) })
	}
	return j
}

// refuseStream fails if the sublayers of a block would join the site's stream: the layer does not do so.
func (s Site) refuseStream(layer string) {
	if s.join(layer).Connection != nil {
		s.Failf("%s with %s: the layer does not join the residual stream", layer, s.Stream.Name)
	}
}

// read returns what the sublayer reads.
func (j joint) read(x graph.Expr) graph.Expr {
	if j.Connection == nil || len(x.Shape()) != 2 {
		return x
	}
	at := j.block.Sub("%s", j.name)
	h := shaped(at, []int{x.Shape()[0], j.width}, func() graph.Expr { return j.Read(x.In(at)) })
	return j.block.Place(j.name, h.In(j.block))
}

// write returns the stream after the sublayer.
func (j joint) write(x graph.Expr, results ...graph.Expr) graph.Expr {
	if j.Connection == nil || len(x.Shape()) != 2 {
		for _, y := range results {
			x = x.Add(y)
		}
		return x
	}
	at := j.block.Sub("%s", j.name)
	return shaped(at, x.Shape(), func() graph.Expr { return j.Write(x.In(at), results...) }).In(j.block)
}

// skips is a stream in which blocks read earlier places.
type skips struct {
	PlainStream
	// find returns the place that the block at a site reads, and declares its λ. There is none if λ is empty.
	find   func(at Site) (from int, lambda graph.Expr)
	places []graph.Expr // of the pass: the embeddings, and the results of the blocks so far
}

// NewEmbeddingSkips returns the stream that mixes the embeddings into the input of every block, as in modded-nanogpt
// (Jordan et al. 2024):
//
//	x_l ← λ₁·x_l + λ₂·x_0
//
// Block l declares skip_lambda, two numbers that start at 1 and 0. Block 0, whose input is x_0, has none.
func NewEmbeddingSkips() Stream {
	return &skips{find: func(at Site) (from int, lambda graph.Expr) {
		if at.Block > 0 {
			lambda = at.Param("skip_lambda", func(i int, _ *rand.Rand) float64 { return float64(1 - i) }, 2)
		}
		return 0, lambda
	}}
}

// NewUNetSkips returns the stream that adds, before a block of the second half, the result of the block at the same
// distance from the beginning as this one has from the end, a U as in modded-nanogpt (Jordan et al. 2024, after
// Ronneberger et al. 2015). For L blocks and i < ⌊L/2⌋, where y_i is the result of block i,
//
//	x_{L−1−i} ← x_{L−1−i} + λ₂·y_i
//
// Each of these blocks declares skip_lambda, one number that starts at 1. If L is even, the inner two blocks are
// neighbours, and λ₂ scales what passes from one to the other.
func NewUNetSkips(blocks int) Stream {
	return &skips{find: func(at Site) (from int, lambda graph.Expr) {
		i := blocks - 1 - at.Block
		if i < at.Block {
			lambda = at.Param("skip_lambda", graph.Const(1), 1)
		}
		return i + 1, lambda
	}}
}

// Expand returns x.
func (s *skips) Expand(x graph.Expr) graph.Expr {
	s.places = nil
	return x
}

// Skip returns a Skip for every block, because each of them notes its place.
func (s *skips) Skip(at Site) Layer {
	from, lambda := s.find(at)
	return &Skip{lambda, from, s, at.Scope}
}

// Skip mixes an earlier place e of the residual stream into the input x of a block. λ is learned:
//
//	y = λ₁·x + λ₂·e
//
// From names the place: 0 is the embeddings, l > 0 the result of block l−1.
type Skip struct {
	Lambda graph.Expr // [λ₁, λ₂], or [λ₂] if λ₁ is 1; empty for y = x
	From   int
	stream *skips
	scope  graph.Scope
}

// Forward returns λ₁·x + λ₂·e. All blocks of the stream must be called in their order.
func (l *Skip) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	l.stream.places = append(l.stream.places, x)
	if l.Lambda.Graph() == nil {
		return x
	}
	return mix(x.In(l.scope), l.stream.places[l.From].In(l.scope), l.Lambda)
}

// mix returns [a | λ₁·b + λ₂·c] for x = [a | b] and λ = [λ₁, λ₂], or [λ₂] if λ₁ is 1.
func mix(x, c, lambda graph.Expr) graph.Expr {
	if y, ok := fused.MixColumns(x, c, lambda); ok {
		return y
	}
	if len(x.Shape()) != 2 || len(c.Shape()) != 2 {
		return x.Add(c) // reports the shapes
	}
	width, from, n := x.Shape()[1], x.Shape()[1]-c.Shape()[1], int(lambda.Entries())
	b, factors := x, lambda.Reshape(1, n)
	if from > 0 {
		b = x.Columns(from, width)
	}
	if n == 2 {
		b, factors = b.Mul(factors.Columns(0, 1)), factors.Columns(1, 2)
	}
	y := b.Add(c.Mul(factors))
	if from == 0 {
		return y
	}
	return x.Columns(0, from).Join(y)
}
