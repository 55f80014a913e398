package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// KVCache stores the keys and values of the tokens so far. It is the job of its own loop: running it allocates nothing.
type KVCache[T kernel.Float] struct {
	Shape
	keys, values []T // (Batch, Groups, Keys, QK) and (Batch, Groups, Keys, V)
	weights      []T // (Batch, Heads, Keys)
	Sinks        []T // logits of the heads' sinks, for weights by a softmax; nil without
	sums         []T // (Batch, Heads, 3), of softmaxes with sinks, or ln n of sigmoids
	Gates        []T // ln f of the new tokens (Batch·new, Heads), if the attention forgets; nil without

	decay []T // (Batch, Heads, Keys, 2), the running sums c of the gates, each as a number and its rounding error

	y, qkv []T
	mask   Mask[T]
	places Places
	tokens int // of each sequence
}

// NewKVCache returns an empty cache for h.Keys tokens.
func NewKVCache[T kernel.Float](h Shape) *KVCache[T] {
	n := h.Batch * h.Groups * h.Keys
	return &KVCache[T]{
		Shape: h, keys: make([]T, n*h.QK), values: make([]T, n*h.V), weights: make([]T, h.Batch*h.Heads*h.Keys),
		sums: make([]T, 3*h.Batch*h.Heads),
	}
}

// Attend appends the keys and values of new tokens, qkv (n·new, Width), of n sequences at their places, and computes
// the attention of their queries to the tokens so far: y (n·new, Heads·V). The mask has a row for every position and
// is shared by all sequences.
func (c *KVCache[T]) Attend(p *kernel.Pool, y, qkv []T, mask Mask[T], at Places) {
	c.y, c.qkv, c.mask = y, qkv, mask
	if c.Gates != nil && c.decay == nil {
		c.decay = make([]T, 2*c.Batch*c.Heads*c.Keys)
	}
	n := at.count(c.Batch)
	c.places, c.tokens = at, len(y)/(n*c.Heads*c.V)
	seen := at.longest() + c.tokens
	operations := 2 * n * (c.Heads + kernel.FetchRows*c.Groups) * c.tokens * seen * (c.QK + c.V)
	p.RunOn(kernel.Worth[T](p, operations), n*c.Groups, 1, c)
}

// Do computes groups from … to of those of all sequences of the step.
func (c *KVCache[T]) Do(from, to int) {
	for i := from; i < to; i++ {
		c.group(i/c.Groups, i%c.Groups)
	}
}

// group computes the heads of group g of sequence i of the step. The queries, weights and results of these heads are
// the rows of matrices, so that the keys and values that they share are read once.
func (c *KVCache[T]) group(i, g int) {
	b, start := c.places.Of(i)
	h, n, shared := c.Shape, c.Keys, c.shared()
	task, first := b*h.Groups+g, g*shared
	scale := T(1 / math.Sqrt(float64(h.QK)))
	keys, values := c.keys[task*n*h.QK:][:n*h.QK], c.values[task*n*h.V:][:n*h.V]
	for t := range c.tokens {
		row, at := c.qkv[(i*c.tokens+t)*h.Width():][:h.Width()], start+t
		copy(keys[at*h.QK:][:h.QK], row[(h.Heads+g)*h.QK:])
		copy(values[at*h.V:][:h.V], row[(h.Heads+h.Groups)*h.QK+g*h.V:])
		q, out := row[first*h.QK:], c.y[((i*c.tokens+t)*h.Heads+first)*h.V:]
		weights := c.weights[task*shared*n:][:shared*(at+1)]
		gemm.MulSerial(shared, at+1, h.QK, scale,
			gemm.Mat(q, h.QK), gemm.Mat(keys, h.QK).T(), 0, gemm.Mat(weights, at+1))
		if c.Cap != 0 {
			softcap(weights, nil, T(c.Cap))
		}
		for j := range shared {
			mask := c.mask.Data[(c.mask.index(b, first+j)*n+at)*n:][:at+1]
			c.forget(weights[j*(at+1):][:at+1], b, first+j, i*c.tokens+t)
			c.weigh(weights[j*(at+1):][:at+1], mask, b, first+j)
		}
		gemm.MulSerial(shared, h.V, at+1, 1, gemm.Mat(weights, at+1), gemm.Mat(values, h.V), 0, gemm.Mat(out, h.V))
	}
}

// forget adds c_i − c_j to the scores of the new token in a row of the step, in head j of sequence b, if there are
// gates.
func (c *KVCache[T]) forget(scores []T, b, j, row int) {
	if c.Gates == nil {
		return
	}
	own := c.decay[2*(b*c.Heads+j)*c.Keys:][:2*len(scores)]
	sum := func(key int) float64 { return float64(own[2*key]) + float64(own[2*key+1]) }
	at := len(scores) - 1
	total := float64(c.Gates[row*c.Heads+j])
	if at > 0 {
		total += sum(at - 1)
	}
	own[2*at] = T(total)
	own[2*at+1] = T(total - float64(own[2*at]))
	for key := range scores {
		scores[key] += T(total - sum(key))
	}
}

// weigh turns the scores of a query of head j of sequence b into weights, in place, given its row of the mask.
func (c *KVCache[T]) weigh(scores, mask []T, b, j int) {
	sums, n := c.sums[3*(b*c.Heads+j):], len(scores)
	switch {
	case c.Weights == Sigmoids:
		sums[0] = logKeys[T](int(count(mask)))
		sigmoidTile(scores, mask, sums[:1], n, n)
	case c.Sinks != nil:
		sums[0], sums[1] = c.Sinks[j], 1
		softmaxTile(scores, mask, sums[:1], sums[1:2], sums[2:3], n, n)
	default:
		kernel.Softmax(scores, mask)
	}
}

// Fork copies the first tokens of sequence from to sequence to.
func (c *KVCache[T]) Fork(from, to, tokens int) {
	for g := range c.Groups {
		a, b := (from*c.Groups+g)*c.Keys, (to*c.Groups+g)*c.Keys
		copy(c.keys[b*c.QK:][:tokens*c.QK], c.keys[a*c.QK:])
		copy(c.values[b*c.V:][:tokens*c.V], c.values[a*c.V:])
	}
	for j := 0; j < c.Heads && c.decay != nil; j++ {
		copy(c.decay[2*(to*c.Heads+j)*c.Keys:][:2*tokens], c.decay[2*(from*c.Heads+j)*c.Keys:])
	}
}

// Bytes returns the memory of keys and values, and of the running sums of gates.
func (c *KVCache[T]) Bytes() int {
	return kernel.Bytes(c.keys) + kernel.Bytes(c.values) + kernel.Bytes(c.decay)
}
