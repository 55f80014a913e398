package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// PairCache stores two keys and two values of every token so far, of two kinds, such as Longformer's local and global
// ones. A query of either kind is multiplied with the keys of its own kind, and one softmax covers both. A PairCache is
// the job of its own loop: running it allocates nothing, except where the tokens outgrow the room.
type PairCache[T kernel.Float] struct {
	Shape
	keys, values [2][]T // for each kind (Batch, Heads, kept, QK) and (Batch, Heads, kept, V)
	weights      []T    // (Batch, Heads, 2, kept)
	hidden       []T    // the mask of the weights
	pairs        []T    // (Batch, Heads, kept, 2), a row of the mask
	kept         int    // number of tokens for which there is room

	y, qkv []T
	mask   Mask[T]
	places Places
	tokens int // of each sequence
}

// NewPairCache returns an empty cache for at most h.Keys tokens. Every group is a single head.
func NewPairCache[T kernel.Float](h Shape) *PairCache[T] { return &PairCache[T]{Shape: h} }

// reserve makes room for n tokens of every sequence.
func (c *PairCache[T]) reserve(n int) {
	if n <= c.kept {
		return
	}
	before, now, blocks := c.kept, Grown(n, c.Keys), c.Batch*c.Heads
	c.kept = now
	c.weights, c.hidden, c.pairs = make([]T, 2*blocks*now), make([]T, 2*blocks*now), make([]T, 2*blocks*now)
	for kind := range 2 {
		c.keys[kind] = grow(c.keys[kind], blocks, c.QK, before, now)
		c.values[kind] = grow(c.values[kind], blocks, c.V, before, now)
	}
}

// Attend appends the keys and values of new tokens of n sequences at their places, and computes the attention of their
// queries to the tokens so far: y (n·new, Heads·V). The packed projections of both kinds lie side by side, qkv (n·new,
// 2·Width). A row of the mask is (2·Keys), with the two keys of a token next to each other, and the same for all
// sequences.
func (c *PairCache[T]) Attend(p *kernel.Pool, y, qkv []T, mask Mask[T], at Places) {
	n := at.count(c.Batch)
	c.y, c.qkv, c.mask, c.places, c.tokens = y, qkv, mask, at, len(y)/(n*c.Heads*c.V)
	c.reserve(at.longest() + c.tokens)
	operations := 4 * (1 + kernel.FetchRows) * n * c.Heads * c.tokens * (at.longest() + c.tokens) * (c.QK + c.V)
	p.RunOn(kernel.Worth[T](p, operations), n*c.Heads, 1, c)
}

// Do computes heads from … to of the heads of all sequences of the step.
func (c *PairCache[T]) Do(from, to int) {
	for i := from; i < to; i++ {
		sequence, at := c.places.Of(i / c.Heads)
		for token := range c.tokens {
			c.head(sequence*c.Heads+i%c.Heads, i/c.Heads*c.tokens+token, at+token)
		}
	}
}

// head computes head i, counted through the sequences of the cache, for the token in the given row and at the given
// position.
func (c *PairCache[T]) head(i, row, at int) {
	h, n, j := c.Shape, at+1, i%c.Heads
	weights, hidden, mask := c.weights[2*i*c.kept:][:2*n], c.hidden[2*i*c.kept:][:2*n], c.pairs[2*i*c.kept:][:2*n]
	c.mask.part(c.mask.index(0, j)*h.Queries+at, 2*h.Keys, 0, mask)
	for kind := range 2 {
		part := c.qkv[(2*row+kind)*h.Width():][:h.Width()]
		keys, values := c.keys[kind][i*c.kept*h.QK:], c.values[kind][i*c.kept*h.V:]
		copy(keys[at*h.QK:][:h.QK], part[(h.Heads+j)*h.QK:])
		copy(values[at*h.V:][:h.V], part[2*h.Heads*h.QK+j*h.V:])
		scale := T(1 / math.Sqrt(float64(h.QK)))
		gemm.MulSerial(1, n, h.QK, scale,
			gemm.Mat(part[j*h.QK:], h.QK), gemm.Mat(keys, h.QK).T(), 0, gemm.Mat(weights[kind*n:], n))
		for key := range n {
			hidden[kind*n+key] = mask[2*key+kind]
		}
	}
	if c.Cap != 0 {
		softcap(weights, nil, T(c.Cap))
	}
	kernel.Softmax(weights, hidden)
	out := gemm.Mat(c.y[(row*h.Heads+j)*h.V:], h.V)
	for kind := range 2 {
		values := gemm.Mat(c.values[kind][i*c.kept*h.V:], h.V)
		gemm.MulSerial(1, h.V, n, 1, gemm.Mat(weights[kind*n:], n), values, T(kind), out)
	}
}

// Fork copies the first tokens of sequence from to sequence to.
func (c *PairCache[T]) Fork(from, to, tokens int) {
	for kind := range 2 {
		for j := range c.Heads {
			a, b := (from*c.Heads+j)*c.kept, (to*c.Heads+j)*c.kept
			copy(c.keys[kind][b*c.QK:][:tokens*c.QK], c.keys[kind][a*c.QK:])
			copy(c.values[kind][b*c.V:][:tokens*c.V], c.values[kind][a*c.V:])
		}
	}
}

// Holds returns true: all tokens are kept.
func (c *PairCache[T]) Holds(_, _ int) bool { return true }

// Bytes returns the memory of keys and values.
func (c *PairCache[T]) Bytes() int {
	return 2 * (kernel.Bytes(c.keys[0]) + kernel.Bytes(c.values[0]))
}
