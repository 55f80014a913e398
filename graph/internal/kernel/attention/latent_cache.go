package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// LatentShape holds the sizes of attention to latents that all heads share. A query has QK + Rotary features and a
// latent Latent + Rotary: keys and values are computed from the first part, the second part belongs to the key as it
// is.
type LatentShape struct{ Batch, Context, Heads, QK, V, Latent, Rotary int }

// Width returns the number of floats that the cache stores for a token.
func (h LatentShape) Width() int { return h.Latent + h.Rotary }

// headGroup is the number of heads that read the latents at once. It is fixed, so that the order of sums is fixed.
const headGroup = 8

// LatentCache stores the latents of the tokens so far, (Batch, kept, Latent + Rotary), and has room for one token's
// attention to them. It is the job of its own loop: running it allocates nothing, except where the tokens outgrow the
// room.
type LatentCache[T kernel.Float] struct {
	LatentShape
	rows                       []T
	queries, weights, attended []T // of every head: (…, Latent + Rotary), (…, kept), (…, Latent)
	hidden                     []T // (Batch, Heads, kept), the entries of a row of the mask
	kept                       int // number of tokens for which there is room

	y, q, upK, upV []T
	mask           Mask[T]
	places         Places
	tokens         int // of each sequence
}

// NewLatentCache returns an empty cache.
func NewLatentCache[T kernel.Float](h LatentShape) *LatentCache[T] {
	heads := h.Batch * h.Heads
	return &LatentCache[T]{
		LatentShape: h, queries: make([]T, heads*h.Width()), attended: make([]T, heads*h.Latent),
	}
}

// reserve makes room for n tokens of every sequence.
func (c *LatentCache[T]) reserve(n int) {
	if n <= c.kept {
		return
	}
	before, now := c.kept, Grown(n, c.Context)
	c.kept, c.rows = now, grow(c.rows, c.Batch, c.Width(), before, now)
	c.weights, c.hidden = make([]T, c.Batch*c.Heads*now), make([]T, c.Batch*c.Heads*now)
}

// Attend appends the latents of new tokens, latent (n·new, Latent + Rotary), of n sequences at their places, and
// computes the attention of their queries q (n·new, Heads·(QK + Rotary)) to the tokens so far: y (n·new, Heads·V). upK
// (Latent, Heads·QK) and upV (Latent, Heads·V) would turn the latents into keys and values. Attend multiplies them with
// queries and results instead, so that no key and no value is ever computed.
func (c *LatentCache[T]) Attend(p *kernel.Pool, y, q, latent, upK, upV []T, mask Mask[T], at Places) {
	n := at.count(c.Batch)
	c.y, c.q, c.upK, c.upV, c.mask, c.places, c.tokens = y, q, upK, upV, mask, at, len(y)/(n*c.Heads*c.V)
	w := c.Width()
	c.reserve(at.longest() + c.tokens)
	for i := range n {
		row, first := at.Of(i)
		copy(c.rows[(row*c.kept+first)*w:][:c.tokens*w], latent[i*c.tokens*w:])
	}
	up := (1 + kernel.FetchRows) * c.Heads * c.Latent * (c.QK + c.V)
	rows := (c.Heads + kernel.FetchRows*c.groups()) * (at.longest() + c.tokens) * (w + c.Latent)
	operations := 2 * n * c.tokens * (up + rows)
	p.RunOn(kernel.Worth[T](p, operations), n*c.groups(), 1, c)
}

func (c *LatentCache[T]) groups() int { return (c.Heads + headGroup - 1) / headGroup }

// Do computes groups of heads from … to−1.
func (c *LatentCache[T]) Do(from, to int) {
	for i := from; i < to; i++ {
		sequence, first := i/c.groups(), i%c.groups()*headGroup
		for token := range c.tokens {
			c.attend(sequence, token, first, min(c.Heads, first+headGroup))
		}
	}
}

// attend computes heads from … to−1 of a new token of sequence i of the step.
func (c *LatentCache[T]) attend(i, token, from, to int) {
	b, at := c.places.Of(i)
	w, here, n := c.Width(), at+token, c.kept
	latents := gemm.Mat(c.rows[b*n*w:], w)
	queries, weights := gemm.Mat(c.queries[b*c.Heads*w:], w), gemm.Mat(c.weights[b*c.Heads*n:], n)
	attended := gemm.Mat(c.attended[b*c.Heads*c.Latent:], c.Latent)
	for j := from; j < to; j++ {
		c.absorb(queries.From(j, 0).Data[:w], i*c.tokens+token, j)
	}
	gemm.MulSerial(to-from, here+1, w, 1, queries.From(from, 0), latents.T(), 0, weights.From(from, 0))
	for j := from; j < to; j++ {
		hidden := c.hidden[(b*c.Heads+j)*n:][:here+1]
		c.mask.part(c.mask.index(b, j)*c.Context+here, c.Context, 0, hidden)
		kernel.Softmax(weights.From(j, 0).Data[:here+1], hidden)
	}
	gemm.MulSerial(to-from, c.Latent, here+1, 1, weights.From(from, 0), latents, 0, attended.From(from, 0))
	for j := from; j < to; j++ {
		out := c.y[((i*c.tokens+token)*c.Heads+j)*c.V:][:c.V]
		up := gemm.Mat(c.upV, c.Heads*c.V).From(0, j*c.V)
		gemm.MulSerial(1, c.V, c.Latent, 1, attended.From(j, 0), up, 0, gemm.Mat(out, c.V))
	}
}

// absorb multiplies the query of head j in a row of q with the projection of latents to keys and with the scale: the
// product of the result and a latent is the score.
func (c *LatentCache[T]) absorb(into []T, row, j int) {
	scale := T(1 / math.Sqrt(float64(c.QK+c.Rotary)))
	q := c.q[(row*c.Heads+j)*(c.QK+c.Rotary):][:c.QK+c.Rotary]
	up := gemm.Mat(c.upK, c.Heads*c.QK).From(0, j*c.QK)
	gemm.MulSerial(1, c.Latent, c.QK, scale, gemm.Mat(q, c.QK), up.T(), 0, gemm.Mat(into, c.Latent))
	for i, v := range q[c.QK:] {
		into[c.Latent+i] = scale * v
	}
}

// Fork copies the first tokens of sequence from to sequence to.
func (c *LatentCache[T]) Fork(from, to, tokens int) {
	w := c.Width()
	copy(c.rows[to*c.kept*w:][:tokens*w], c.rows[from*c.kept*w:])
}

// Holds returns true: all tokens are kept.
func (c *LatentCache[T]) Holds(_, _ int) bool { return true }

// Bytes returns the memory of the latents.
func (c *LatentCache[T]) Bytes() int { return kernel.Bytes(c.rows) }
