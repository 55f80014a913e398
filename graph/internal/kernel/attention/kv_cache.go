package attention

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// KVCache stores the keys and values of all tokens so far, or of the tokens in a window. It is the job of its own loop,
// so that running it allocates only when the tokens outgrow the room.
type KVCache[T kernel.Float] struct {
	Shape
	room         Room
	most         int    // number of keys that are kept of a sequence
	kept         int    // number of keys for which there is room now
	held         []held // by sequence
	keys, values []T    // (Batch, Groups, kept, QK) and (Batch, Groups, kept, V)
	weights      []T    // (Batch, Heads, kept)
	hidden       []T    // (Batch, Groups, kept), the entries of a row of the mask
	zeros        []T    // (kept), the entries of a row that hides nothing
	Sinks        []T    // logits of the heads' sinks, for weights by a softmax; nil without
	sums         []T    // (Batch, Heads, 3), of softmaxes with sinks, or ln n of sigmoids
	Gates        []T    // ln f of the new tokens (Batch·new, Heads), if the attention forgets; nil without

	decay []T // (Batch, Heads, kept, 2), the running sums c of the gates, each as a number and its rounding error

	y, qkv []T
	mask   Mask[T]
	places Places
	tokens int // of each sequence
}

// NewKVCache returns an empty cache for at most h.Keys tokens.
func NewKVCache[T kernel.Float](h Shape, r Room) *KVCache[T] {
	return &KVCache[T]{
		Shape: h, room: r, most: r.Keys(h.Keys), held: slices.Repeat([]held{r.begin()}, h.Batch),
		sums: make([]T, 3*h.Batch*h.Heads),
	}
}

// reserve makes room for n keys of every sequence.
func (c *KVCache[T]) reserve(n int) {
	if n = min(n, c.most); n <= c.kept {
		return
	}
	before, now, blocks := c.kept, Grown(n, c.most), c.Batch*c.Groups
	c.kept = now
	c.keys, c.values = grow(c.keys, blocks, c.QK, before, now), grow(c.values, blocks, c.V, before, now)
	c.weights, c.hidden, c.zeros = make([]T, c.Batch*c.Heads*now), make([]T, blocks*now), make([]T, now)
	if c.decay != nil {
		c.decay = grow(c.decay, c.Batch*c.Heads, 2, before, now)
	}
}

// Attend appends the keys and values of new tokens, qkv (n·new, Width), of n sequences at their places, and computes
// the attention of their queries to the tokens so far: y (n·new, Heads·V). The mask has a row for every position and
// is shared by all sequences.
func (c *KVCache[T]) Attend(p *kernel.Pool, y, qkv []T, mask Mask[T], at Places) {
	c.y, c.qkv, c.mask = y, qkv, mask
	n := at.count(c.Batch)
	c.places, c.tokens = at, len(y)/(n*c.Heads*c.V)
	seen := min(c.most, at.longest()+c.tokens)
	c.reserve(seen)
	if c.Gates != nil && c.decay == nil {
		c.decay = make([]T, 2*c.Batch*c.Heads*c.kept)
	}
	for i := range n {
		if b, start := at.Of(i); start == 0 {
			c.held[b] = c.room.begin()
		}
	}
	operations := 2 * n * (c.Heads + kernel.FetchRows*c.Groups) * c.tokens * seen * (c.QK + c.V)
	p.RunOn(kernel.Worth[T](p, operations), n*c.Groups, 1, c)
	for i := range n {
		b, start := at.Of(i)
		for t := range c.tokens {
			c.held[b] = c.room.add(c.held[b], start+t, c.most)
		}
	}
}

// Do computes groups from … to of the groups of all sequences of the step.
func (c *KVCache[T]) Do(from, to int) {
	for i := from; i < to; i++ {
		c.group(i/c.Groups, i%c.Groups)
	}
}

// group computes the heads of group g of sequence i of the step. The queries, weights and results of these heads are
// the rows of matrices, so that the keys and values that they share are read once.
func (c *KVCache[T]) group(i, g int) {
	b, start := c.places.Of(i)
	h, shared := c.Shape, c.shared()
	task, first := b*h.Groups+g, g*shared
	scale := T(1 / math.Sqrt(float64(h.QK)))
	keys, values := c.keys[task*c.kept*h.QK:][:c.kept*h.QK], c.values[task*c.kept*h.V:][:c.kept*h.V]
	held := c.held[b]
	for t := range c.tokens {
		row, at := c.qkv[(i*c.tokens+t)*h.Width():][:h.Width()], start+t
		before := held
		if held = c.room.add(held, at, c.most); held != before {
			move(keys, before, held, h.QK)
			move(values, before, held, h.V)
		}
		place := held.place(at)
		copy(keys[place*h.QK:][:h.QK], row[(h.Heads+g)*h.QK:])
		copy(values[place*h.V:][:h.V], row[(h.Heads+h.Groups)*h.QK+g*h.V:])
		q, out := row[first*h.QK:], c.y[((i*c.tokens+t)*h.Heads+first)*h.V:]
		n := place + 1
		weights := c.weights[task*shared*c.kept:][:shared*n]
		gemm.MulSerial(shared, n, h.QK, scale,
			gemm.Mat(q, h.QK), gemm.Mat(keys, h.QK).T(), 0, gemm.Mat(weights, n))
		if c.Cap != 0 {
			softcap(weights, nil, T(c.Cap))
		}
		for j := range shared {
			mask := c.rowOf(c.mask.index(b, first+j), at, task, held)
			c.forget(weights[j*n:][:n], b, first+j, i*c.tokens+t)
			c.weigh(weights[j*n:][:n], mask, b, first+j)
		}
		sumValues(shared, h.V, at+1, held, gemm.Mat(weights, n), gemm.Mat(values, h.V), gemm.Mat(out, h.V))
	}
}

// move moves what is still held, of the given number of features, to its new places.
func move[T kernel.Float](x []T, before, now held, features int) {
	from := min(len(x), (before.first+now.base-before.base)*features)
	copy(x[now.first*features:], x[from:])
}

// rowOf returns the entries of a matrix of the mask for the query at a position and the keys that are held.
func (c *KVCache[T]) rowOf(matrix, at, task int, held held) []T {
	row, n := matrix*c.Keys+at, held.place(at)+1
	if known, ok := c.mask.span(row, at+1); ok && known == (span{0, at + 1, true}) {
		return c.zeros[:n]
	}
	if c.mask.Rule == nil && held.base == held.first {
		return c.mask.Data[row*c.Keys:][:n]
	}
	all := c.hidden[task*c.kept:][:n]
	c.mask.part(row, c.Keys, 0, all[:min(n, held.first)])
	if n > held.first {
		c.mask.part(row, c.Keys, held.base, all[held.first:])
	}
	return all
}

// sumValues computes the products of weights and values (m, features), whose terms are added in the blocks in which the
// product of all n tokens adds them.
func sumValues[T kernel.Float](m, features, n int, held held, weights, values, out gemm.Matrix[T]) {
	if held.base == held.first {
		gemm.MulSerial(m, features, n, 1, weights, values, 0, out)
		return
	}
	step, beta := gemm.Depth(n), T(0)
	for l := 0; l < n; l += step {
		from, to := held.place(l), held.place(min(l+step, n))
		if from < to {
			gemm.MulSerial(m, features, to-from, 1, weights.From(0, from), values.From(from, 0), beta, out)
			beta = 1
		}
	}
}

// forget adds c_i − c_j to the scores of the new token in a row of the step, in head j of sequence b, if there are
// gates.
func (c *KVCache[T]) forget(scores []T, b, j, row int) {
	if c.Gates == nil {
		return
	}
	own := c.decay[2*(b*c.Heads+j)*c.kept:][:2*len(scores)]
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

// Fork copies what is held of the first tokens of sequence from to sequence to.
func (c *KVCache[T]) Fork(from, to, tokens int) {
	n := c.held[from].place(tokens)
	for g := range c.Groups {
		a, b := (from*c.Groups+g)*c.kept, (to*c.Groups+g)*c.kept
		copy(c.keys[b*c.QK:][:n*c.QK], c.keys[a*c.QK:])
		copy(c.values[b*c.V:][:n*c.V], c.values[a*c.V:])
	}
	c.held[to] = c.held[from]
	for j := 0; j < c.Heads && c.decay != nil; j++ {
		copy(c.decay[2*(to*c.Heads+j)*c.kept:][:2*tokens], c.decay[2*(from*c.Heads+j)*c.kept:])
	}
}

// Holds reports whether a sequence can continue at a position.
func (c *KVCache[T]) Holds(sequence, position int) bool {
	return c.room.holds(c.held[sequence], position)
}

// Bytes returns the memory of keys and values, and of the running sums of gates.
func (c *KVCache[T]) Bytes() int {
	return kernel.Bytes(c.keys) + kernel.Bytes(c.values) + kernel.Bytes(c.decay)
}
