package kernel

import "math"

// Cache keeps the keys and values of the tokens so far: K (Batch, Heads, Keys, QK), V (Batch, Heads, Keys, V).
type Cache[T Float] struct{ K, V, weights []T }

// NewCache returns an empty cache.
func NewCache[T Float](h Heads) *Cache[T] {
	n := h.Batch * h.Heads * h.Keys
	return &Cache[T]{make([]T, n*h.QK), make([]T, n*h.V), make([]T, n)}
}

// Attend appends the keys and values of some new tokens per sequence, qkv (Batch·new, Width), from position at on, and
// computes the attention of their queries to the tokens so far: y (Batch·new, Heads·V). The rows of the mask are
// those of all positions, and it is one for all sequences.
func Attend[T Float](p *Pool, h Heads, y, qkv []T, mask Mask[T], cache *Cache[T], at int) {
	heads := h.Batch * h.Heads
	tokens := len(y) / (heads * h.V)
	a := attending[T]{h, y, qkv, mask, cache, at, tokens}
	if p.Threads() == 1 || 2*heads*tokens*(at+tokens)*(h.QK+h.V) < serialCost {
		a.do(0, heads)
		return
	}
	jobs := spareOf[attending[T]](&p.attend32, &p.attend64)
	j := jobs.take()
	*j = a
	p.run(heads, 1, j)
	*j = attending[T]{}
	jobs.give(j)
}

// attending is the arguments of Attend.
type attending[T Float] struct {
	Heads
	y, qkv     []T
	mask       Mask[T]
	cache      *Cache[T]
	at, tokens int
}

// do computes heads from … to of Batch·Heads.
func (a *attending[T]) do(from, to int) {
	for i := from; i < to; i++ {
		a.head(i/a.Heads.Heads, i%a.Heads.Heads)
	}
}

// head computes head j of sequence b.
func (a *attending[T]) head(b, j int) {
	h, n := a.Heads, a.Keys
	mask := a.mask.Data[a.mask.index(b, j)*n*n:][:n*n]
	task := b*h.Heads + j
	scale := T(1 / math.Sqrt(float64(h.QK)))
	keys, values := a.cache.K[task*n*h.QK:][:n*h.QK], a.cache.V[task*n*h.V:][:n*h.V]
	for i := range a.tokens {
		row, here := a.qkv[(b*a.tokens+i)*h.Width():][:h.Width()], a.at+i
		copy(keys[here*h.QK:][:h.QK], row[(h.Heads+j)*h.QK:])
		copy(values[here*h.V:][:h.V], row[2*h.Heads*h.QK+j*h.V:])
		q, out := row[j*h.QK:][:h.QK], a.y[((b*a.tokens+i)*h.Heads+j)*h.V:][:h.V]
		weights := a.cache.weights[task*n:][:here+1]
		GemmSerial(1, here+1, h.QK, scale, Mat(q, h.QK), Mat(keys, h.QK).T(), 0, Mat(weights, here+1))
		softmax(weights, mask[here*n:][:here+1])
		GemmSerial(1, h.V, here+1, 1, Mat(weights, here+1), Mat(values, h.V), 0, Mat(out, h.V))
	}
}

func dot[T Float](x, y []T) (sum T) {
	y = y[:len(x)]
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}
