package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Layer turns activations (n, in) into activations (n, out).
type Layer interface {
	Forward(x graph.Expr) graph.Expr
}

// Cached is a Layer that can also take only the newest tokens of every sequence, (B·n, in) → (B·n, out), remembering the
// tokens before them in its site's Caches. at is the position of the first. A Layer in which tokens do not meet, such as an
// MLP or a norm, needs no memory: Forward does for both. Attention that is not Cached is an error where a block takes a
// step.
type Cached interface {
	Layer
	Step(x, at graph.Expr) graph.Expr
}

// Mixing is an attention Layer that says what the meeting of tokens costs: for each token, the products of two numbers in
// the forward pass that belong to no parameter, counted without regard to the mask. Softmax over T keys is T·H(dρ+dh).
type Mixing interface {
	Layer
	Mixing() float64
}

// overKeys is what softmax over so many keys costs a token: keys·H(dρ+dh). It is a float64, which no size overflows.
func overKeys(keys, heads, qk, v int) float64 {
	return float64(keys) * float64(heads) * (float64(qk) + float64(v))
}

// stepAt is l's Step at one position, in the block at s.
func stepAt(s graph.Scope, l Layer, at graph.Expr) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		if c, ok := l.(Cached); ok {
			return c.Step(x, at)
		}
		s.Failf("%T keeps nothing of earlier tokens, so they have to come all at once, through Forward", l)
		return x
	}
}

// Caches are what the layers of a decoder remember, by the name of the layer: graphs for one new token and for several
// share them. What is remembered, and its type, is the layer's own affair.
type Caches map[string]any

// cacheAt is what the layer at path remembers, made when it is first asked for; nil where nothing is to be remembered.
func cacheAt[C any](c Caches, path string, make func() *C) *C {
	if c == nil {
		return nil
	}
	kept, ok := c[path].(*C)
	if !ok {
		kept = make()
		c[path] = kept
	}
	return kept
}

// Affine makes the layer y = x·w + b with in inputs, the outputs given as blocks of columns, and weights from init.
type Affine func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer
