package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// KVCache keeps the keys and values of the tokens so far. It is the job of its own loop: running it allocates nothing.
type KVCache[T kernel.Float] struct {
	Shape
	keys, values []T // (Batch, Heads, Keys, QK) and (Batch, Heads, Keys, V)
	weights      []T // of every head, (…, Keys)

	y, qkv     []T
	mask       Mask[T]
	at, tokens int
}

// NewKVCache returns an empty cache for h.Keys tokens.
func NewKVCache[T kernel.Float](h Shape) *KVCache[T] {
	n := h.Batch * h.Heads * h.Keys
	return &KVCache[T]{Shape: h, keys: make([]T, n*h.QK), values: make([]T, n*h.V), weights: make([]T, n)}
}

// Attend appends the keys and values of some new tokens per sequence, qkv (Batch·new, Width), from position at on, and
// computes the attention of their queries to the tokens so far: y (Batch·new, Heads·V). The rows of the mask are those of
// all positions, and it is one for all sequences.
func (c *KVCache[T]) Attend(p *kernel.Pool, y, qkv []T, mask Mask[T], at int) {
	heads := c.Batch * c.Heads
	c.y, c.qkv, c.mask, c.at, c.tokens = y, qkv, mask, at, len(y)/(heads*c.V)
	p.Run(heads, c.chunk(), c)
}

// chunk is the number of heads that a thread takes at a time: all of them where sharing costs more than it saves.
func (c *KVCache[T]) chunk() int {
	heads := c.Batch * c.Heads
	if 2*heads*c.tokens*(c.at+c.tokens)*(c.QK+c.V) < gemm.SerialCost {
		return heads
	}
	return 1
}

// Do computes heads from … to of Batch·Heads.
func (c *KVCache[T]) Do(from, to int) {
	for i := from; i < to; i++ {
		c.head(i/c.Heads, i%c.Heads)
	}
}

// head computes head j of sequence b.
func (c *KVCache[T]) head(b, j int) {
	h, n := c.Shape, c.Keys
	mask := c.mask.Data[c.mask.index(b, j)*n*n:][:n*n]
	task := b*h.Heads + j
	scale := T(1 / math.Sqrt(float64(h.QK)))
	keys, values := c.keys[task*n*h.QK:][:n*h.QK], c.values[task*n*h.V:][:n*h.V]
	for i := range c.tokens {
		row, at := c.qkv[(b*c.tokens+i)*h.Width():][:h.Width()], c.at+i
		copy(keys[at*h.QK:][:h.QK], row[(h.Heads+j)*h.QK:])
		copy(values[at*h.V:][:h.V], row[2*h.Heads*h.QK+j*h.V:])
		q, out := row[j*h.QK:][:h.QK], c.y[((b*c.tokens+i)*h.Heads+j)*h.V:][:h.V]
		weights := c.weights[task*n:][:at+1]
		gemm.MulSerial(1, at+1, h.QK, scale, gemm.Mat(q, h.QK), gemm.Mat(keys, h.QK).T(), 0, gemm.Mat(weights, at+1))
		kernel.Softmax(weights, mask[at*n:][:at+1])
		gemm.MulSerial(1, h.V, at+1, 1, gemm.Mat(weights, at+1), gemm.Mat(values, h.V), 0, gemm.Mat(out, h.V))
	}
}

// Fork makes the first tokens of sequence to a copy of those of sequence from.
func (c *KVCache[T]) Fork(from, to, tokens int) {
	for j := range c.Heads {
		a, b := (from*c.Heads+j)*c.Keys, (to*c.Heads+j)*c.Keys
		copy(c.keys[b*c.QK:][:tokens*c.QK], c.keys[a*c.QK:])
		copy(c.values[b*c.V:][:tokens*c.V], c.values[a*c.V:])
	}
}

// Bytes is the memory of keys and values.
func (c *KVCache[T]) Bytes() int { return kernel.Bytes(c.keys) + kernel.Bytes(c.values) }
