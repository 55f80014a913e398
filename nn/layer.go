package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Layer maps activations (n, in) to activations (n, out).
type Layer interface {
	Forward(x graph.Expr) graph.Expr
}

// Cached is a Layer that can also take only the newest tokens of every sequence, (B·n, in) → (B·n, out), remembering
// the tokens before them in its site's Caches. at is the position of the first. A Layer in which tokens do not meet,
// such as an MLP or a norm, needs no memory: Forward does for both. Attention that is not Cached is an error where a
// block takes a step.
type Cached interface {
	Layer
	Step(x, at graph.Expr) graph.Expr
}

// Mixing is an attention Layer that says what the meeting of tokens costs: for each token, the products of two numbers
// in the forward pass that belong to no parameter, counted without regard to the mask. Softmax over T keys is
// T·H(dρ+dh).
type Mixing interface {
	Layer
	Mixing() float64
}

// overKeys is what softmax over that many keys costs a token: keys·H(dρ+dh). It is a float64, which no size overflows.
func overKeys(keys, heads, qk, v int) float64 {
	return float64(keys) * float64(heads) * (float64(qk) + float64(v))
}

// stepAt returns the Step of the layer of that name at one position, in the block at s, as In is its Forward.
func stepAt(s graph.Scope, name string, l Layer, at graph.Expr) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		if c, ok := l.(Cached); ok {
			return s.Place(name, shaped(s.Sub("%s", name), x.Shape(), func() graph.Expr { return c.Step(x, at) }))
		}
		s.Failf("%T keeps nothing of earlier tokens, so they have to come all at once, through Forward", l)
		return x
	}
}

// Adapt makes something else of the matrix w (in, out) of the layer at s, such as one with an adapter.
type Adapt func(s graph.Scope, w graph.Expr, in, out int) graph.Expr

// Affine makes the layer y = x·w + b with in inputs, the outputs given as blocks of columns, and weights from init.
type Affine func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer
