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

// step is l's Step in the block at s.
func step(s graph.Scope, l Layer, x, at graph.Expr) graph.Expr {
	if c, ok := l.(Cached); ok {
		return c.Step(x, at)
	}
	s.Failf("%T keeps nothing of earlier tokens, so they have to come all at once, through Forward", l)
	return x
}

// Dims are the numbers that every layer speaks of.
type Dims struct {
	Batch, Context int // B sequences of T tokens
	Embd           int // d, the width of the residual stream
	Heads          int // H
	QK, V          int // dρ and dh: features of a query or key, and of a value, per head
	Inner          int // f, the width inside the MLP
	Blocks         int // L, for the initialisation of what writes to the residual stream
}

// Site says where in a model a layer stands, and in what style the model is built.
type Site struct {
	graph.Scope
	Dims
	Block   int     // the index of the block, from 0
	Affine  Affine  // how matrices are made: NewLinear, or a LoRA around it
	Bias    bool    // matrices and norms have a bias
	Eps     float64 // ε of LayerNorm
	Dropout float64 // the probability of dropping
	Mask    *Mask   // who sees whom
	Caches  Caches  // where Step keeps what it remembers; nil where only Forward is used
	Act     Layer   // the activation of the MLP

	Norm      func(at Site) Layer // how norms are made; nil is NewLayerNorm
	MLP       func(at Site) Layer // how the MLP of a block is made; nil is NewMLP
	Positions graph.Expr          // (n) where each token stands in its sequence
	Rotary    Rotary              // turns queries and keys; nil does not
	Scores    Bias                // is added to the scores, in the masks that are made for the model; nil adds nothing
}

// Rotary turns queries and keys by where their token stands, so that their products depend on the distance.
type Rotary interface {
	// Rotate turns the first groups·size columns of x (n, ≥ groups·size), each group of size columns by itself, and passes
	// the other columns on.
	Rotate(x graph.Expr, groups, size int) graph.Expr
}

// Placement is what an encoding of positions gives a model. What is nil is left out.
type Placement struct {
	Layer  Layer  // is applied to the embeddings
	Rotary Rotary // rotates queries and keys: the Rotary of every Site
	Scores Bias   // is added to the scores: the Scores of every Site, and the bias of its Mask
}

// mask is the site's mask; it is an error if there is none.
func (s Site) mask() *Mask {
	if s.Mask == nil {
		s.Failf("no mask: the site has to say who of the %d tokens sees whom", s.Context)
		return &Mask{}
	}
	return s.Mask
}

// act is the site's activation; it is an error if there is none.
func (s Site) act() Layer {
	if s.Act == nil {
		s.Failf("no activation: the site has to say what happens to the %d features inside", s.Inner)
		return ReLU{}
	}
	return s.Act
}

// norm makes the norm of that name.
func (s Site) norm(name string) Layer {
	if s.Norm == nil {
		return NewLayerNorm(s.At(name))
	}
	return s.Norm(s.At(name))
}

// mlp makes the MLP of a block.
func (s Site) mlp() Layer {
	if s.MLP == nil {
		return NewMLP(s.At("mlp"))
	}
	return s.MLP(s.At("mlp"))
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

// At is the same style at a place inside s.
func (s Site) At(name string) Site { s.Scope = s.Sub("%s", name); return s }

// Affine makes the layer y = x·w + b with in inputs, the outputs given as blocks of columns, and weights from init.
type Affine func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer
