package kernel

import "math"

// LatentHeads describes attention to latents that all heads share: a query is (QK + Rotary) wide, a latent Latent +
// Rotary, of which the first part is what keys and values are made of and the second a part of the key as it stands.
type LatentHeads struct{ Batch, Context, Heads, QK, V, Latent, Rotary int }

// Width is the number of floats that a token leaves.
func (h LatentHeads) Width() int { return h.Latent + h.Rotary }

// headsTogether is how many heads read the latents at once. It is fixed, so that the order of sums is.
const headsTogether = 8

// LatentCache keeps the latents of the tokens so far, (Batch, Context, Latent + Rotary), and has room for one token's
// attention to them. It is the job of its own loop: running it allocates nothing.
type LatentCache[T Float] struct {
	LatentHeads
	Rows                       []T
	queries, weights, attended []T // of every head: (…, Latent + Rotary), (…, Context), (…, Latent)

	y, q, upK, upV []T
	mask           Mask[T]
	at, tokens     int
}

// NewLatentCache returns an empty cache.
func NewLatentCache[T Float](h LatentHeads) *LatentCache[T] {
	heads := h.Batch * h.Heads
	return &LatentCache[T]{
		LatentHeads: h, Rows: make([]T, h.Batch*h.Context*h.Width()),
		queries: make([]T, heads*h.Width()), weights: make([]T, heads*h.Context), attended: make([]T, heads*h.Latent),
	}
}

// Attend appends the latents of some new tokens per sequence, latent (Batch·new, Latent + Rotary), from position at on,
// and computes the attention of their queries q (Batch·new, Heads·(QK + Rotary)) to the tokens so far: y (Batch·new,
// Heads·V). upK (Latent, Heads·QK) and upV (Latent, Heads·V) would make keys and values of the latents; here they turn
// queries and results instead, so that no key and no value is ever made.
func (c *LatentCache[T]) Attend(p *Pool, y, q, latent, upK, upV []T, mask Mask[T], at int) {
	c.y, c.q, c.upK, c.upV, c.mask, c.at, c.tokens = y, q, upK, upV, mask, at, len(y)/(c.Batch*c.Heads*c.V)
	w := c.Width()
	for b := range c.Batch {
		copy(c.Rows[(b*c.Context+at)*w:][:c.tokens*w], latent[b*c.tokens*w:])
	}
	n := c.Batch * c.groups()
	heads := c.Batch * c.Heads * c.tokens
	if p.Threads() == 1 || 2*heads*(c.Latent*(c.QK+c.V)+(at+c.tokens)*(w+c.Latent)) < serialCost {
		c.do(0, n)
		return
	}
	p.run(n, 1, c)
}

func (c *LatentCache[T]) groups() int { return (c.Heads + headsTogether - 1) / headsTogether }

// do computes groups of heads from … to.
func (c *LatentCache[T]) do(from, to int) {
	for i := from; i < to; i++ {
		b, first := i/c.groups(), i%c.groups()*headsTogether
		for token := range c.tokens {
			c.attend(b, token, first, min(c.Heads, first+headsTogether))
		}
	}
}

// attend computes heads from … to of a new token of sequence b.
func (c *LatentCache[T]) attend(b, token, from, to int) {
	w, here, n := c.Width(), c.at+token, c.Context
	latents := Mat(c.Rows[b*n*w:], w)
	queries, weights, attended := Mat(c.queries[b*c.Heads*w:], w), Mat(c.weights[b*c.Heads*n:], n), Mat(c.attended[b*c.Heads*c.Latent:], c.Latent)
	for j := from; j < to; j++ {
		c.absorb(queries.from(j, 0).Data[:w], b*c.tokens+token, j)
	}
	GemmSerial(to-from, here+1, w, 1, queries.from(from, 0), latents.T(), 0, weights.from(from, 0))
	for j := from; j < to; j++ {
		softmax(weights.from(j, 0).Data[:here+1], c.mask.Data[(c.mask.index(b, j)*n+here)*n:][:here+1])
	}
	GemmSerial(to-from, c.Latent, here+1, 1, weights.from(from, 0), latents, 0, attended.from(from, 0))
	for j := from; j < to; j++ {
		out := c.y[((b*c.tokens+token)*c.Heads+j)*c.V:][:c.V]
		GemmSerial(1, c.V, c.Latent, 1, attended.from(j, 0), Mat(c.upV, c.Heads*c.V).from(0, j*c.V), 0, Mat(out, c.V))
	}
}

// absorb makes of the query of head j in a row of q what is to be multiplied with the latents, with the scale.
func (c *LatentCache[T]) absorb(into []T, row, j int) {
	scale := T(1 / math.Sqrt(float64(c.QK+c.Rotary)))
	q := c.q[(row*c.Heads+j)*(c.QK+c.Rotary):][:c.QK+c.Rotary]
	GemmSerial(1, c.Latent, c.QK, scale, Mat(q, c.QK), Mat(c.upK, c.Heads*c.QK).from(0, j*c.QK).T(), 0, Mat(into, c.Latent))
	for i, v := range q[c.QK:] {
		into[c.Latent+i] = scale * v
	}
}
