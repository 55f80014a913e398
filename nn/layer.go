package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Layer maps activations (n, in) to activations (n, out).
type Layer interface {
	Forward(x graph.Expr) graph.Expr
}

// Cached is a Layer that can also take only the newest tokens of every sequence, (B·n, in) → (B·n, out). It stores the
// tokens before them in its site's Caches. at is the position of the first new token. A Layer that does not combine
// tokens, such as an MLP or a norm, needs no memory: its Forward does both. Taking a step of a block whose attention is
// not Cached is an error.
type Cached interface {
	Layer
	Step(x, at graph.Expr) graph.Expr
}

// Mixing returns an attention Layer that reports the cost of combining tokens: for each token, the number of products
// in the forward pass that involve no parameter, without regard to the mask. Softmax over T keys costs T·H(dρ+dh).
type Mixing interface {
	Layer
	Mixing() float64
}

// overKeys returns the cost per token of softmax over the given number of keys: keys·H(dρ+dh). It is a float64, which
// does not overflow.
func overKeys(keys, heads, qk, v int) float64 {
	return float64(keys) * float64(heads) * (float64(qk) + float64(v))
}

// stepAt returns the Step of the named layer at one position, in the block at s. It is the counterpart of In for Step.
func stepAt(s graph.Scope, name string, l Layer, at graph.Expr) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		if c, ok := l.(Cached); ok {
			return s.Place(name, shaped(s.Sub("%s", name), x.Shape(), func() graph.Expr { return c.Step(x, at) }))
		}
		s.Failf("%T stores nothing of earlier tokens, so all tokens must pass through Forward at once", l)
		return x
	}
}

// Adapt returns a replacement for the matrix w (in, out) of the layer at s, such as one with an adapter.
type Adapt func(s graph.Scope, w graph.Expr, in, out int) graph.Expr

// Affine builds the layer y = x·w + b with in inputs, the outputs given as blocks of columns, and weights from init.
type Affine func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer
