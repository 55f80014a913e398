package kernel

import "math"

// Cache keeps the keys and values of the tokens so far: K (Batch, Heads, Context, QK), V (Batch, Heads, Context, V).
type Cache[T Float] struct{ K, V, weights []T }

// NewCache returns an empty cache.
func NewCache[T Float](h Heads) *Cache[T] {
	n := h.Batch * h.Heads * h.Context
	return &Cache[T]{make([]T, n*h.QK), make([]T, n*h.V), make([]T, n)}
}

// Attend appends the keys and values of some new tokens per sequence, qkv (Batch·new, Width), from position at on, and
// computes the attention of their queries to the tokens so far: y (Batch·new, Heads·V). mask is (Context, Context).
func Attend[T Float](p *Pool, h Heads, y, qkv, mask []T, cache *Cache[T], at int) {
	tokens := len(y) / (h.Batch * h.Heads * h.V)
	heads := func(task int) { attendHead(h, y, qkv, mask, cache, at, tokens, task/h.Heads, task%h.Heads) }
	if tokens == 1 { // some microseconds in all: not worth another thread
		for task := range h.Batch * h.Heads {
			heads(task)
		}
		return
	}
	p.For(h.Batch*h.Heads, heads)
}

func attendHead[T Float](h Heads, y, qkv, mask []T, cache *Cache[T], at, tokens, b, j int) {
	task := b*h.Heads + j
	scale := T(1 / math.Sqrt(float64(h.QK)))
	keys, values := cache.K[task*h.Context*h.QK:], cache.V[task*h.Context*h.V:]
	for i := range tokens {
		row := qkv[(b*tokens+i)*h.Width() : (b*tokens+i+1)*h.Width()]
		here := at + i
		copy(keys[here*h.QK:(here+1)*h.QK], row[(h.Heads+j)*h.QK:])
		copy(values[here*h.V:(here+1)*h.V], row[2*h.Heads*h.QK+j*h.V:])
		weights := cache.weights[task*h.Context:][:here+1]
		q := row[j*h.QK : (j+1)*h.QK]
		for t := range weights {
			weights[t] = scale * dot(keys[t*h.QK:(t+1)*h.QK], q)
		}
		softmax(weights, mask[here*h.Context:here*h.Context+here+1])
		out := y[((b*tokens+i)*h.Heads+j)*h.V:][:h.V]
		clear(out)
		for t, w := range weights {
			for c, x := range values[t*h.V : (t+1)*h.V] {
				out[c] += w * x
			}
		}
	}
}

func dot[T Float](x, y []T) (sum T) {
	y = y[:len(x)]
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}
