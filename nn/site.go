package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Dims are the numbers that every layer speaks of.
type Dims struct {
	Batch, Context int // B sequences of T tokens
	Embd           int // d, the width of the residual stream
	Heads          int // H
	QK, V          int // dρ and dh: features of a query or key, and of a value, per head
	Inner          int // f, the width inside the MLP
	Blocks         int // L, for the initialisation of what writes to the residual stream
}

// Site says where in a model a layer stands, and in what style the model is built. It is a value: what a constructor
// changes in it, such as the mask of one attention, holds for that layer alone. Every constructor reads Scope and Dims.
// Each other field names its readers; the rest ignore it.
type Site struct {
	graph.Scope
	Dims
	Block int // the index of the block, from 0: an Attention that differs between blocks

	Affine  Affine              // NewLinear, which nil is, or a LoRA around it: attention, NewMLP, NewElman
	Adapt   Adapt               // what Param makes of a matrix, nil is the matrix: layers of one's own
	Bias    bool                // of matrices and norms: the same, and norms
	Norm    func(at Site) Layer // nil is NewLayerNorm: blocks
	MLP     func(at Site) Layer // nil is NewMLP: blocks
	Act     Layer               // the activation: NewMLP
	Eps     float64             // ε: norms, NewTaylorAttention
	Dropout float64             // the probability of dropping: attention, NewMLP, NewDropout

	Mask   *Mask  // which token attends to which: self-attention, but NewLongformer is given another
	Caches Caches // what Step keeps, nil where only Forward is used: self-attention that is Cached, NewElman

	Positions graph.Expr // (n) where each token stands: NewLearnedPositions, NewSinusoidal, NewRoPE, NewMLARoPE
	Rotary    Rotary     // NewSelfAttention, NewLongformer, NewTaylorAttention; the rest refuse or ignore it
	Scores    Bias       // of the Placement: an Attention that makes a mask of its own, for NewBiasedMask
}

// Placement is what an encoding of positions gives a model. What is nil is left out.
type Placement struct {
	Layer  Layer  // is applied to the embeddings
	Rotary Rotary // rotates queries and keys: the Rotary of every Site
	Scores Bias   // is added to the scores: the Scores of every Site, and the bias of its Mask
}

// Rotary rotates queries and keys by where their token stands, so that their products depend on the distance.
type Rotary interface {
	// Rotate rotates the first groups·size columns of x (n, ≥ groups·size), each group of size columns by itself, and
	// passes the other columns on.
	Rotate(x graph.Expr, groups, size int) graph.Expr
}

// At returns the same style at a place inside s.
func (s Site) At(name string) Site { s.Scope = s.Sub("%s", name); return s }

// affine makes the affine layer of that name, with outputs given as blocks of columns.
func (s Site) affine(name string, in int, out []int, bias bool, init graph.Init) Layer {
	return Make(s.At(name), func(at Site) Layer {
		if s.Affine == nil {
			return NewLinear(at.Scope, in, out, bias, init)
		}
		return s.Affine(at.Scope, in, out, bias, init)
	})
}

// Param declares a parameter of a layer at s. A matrix comes back as Adapt has it: with an adapter it is the result of
// an operation, which has no Tensor.
func (s Site) Param(name string, init graph.Init, shape ...int) graph.Expr {
	w := s.Scope.Param(name, init, shape...)
	if s.Adapt == nil || len(shape) != 2 {
		return w
	}
	at := s.Scope
	if name != "weight" {
		at = s.Sub("%s", name)
	}
	return s.Adapt(at, w, shape[0], shape[1])
}

// heads returns the sizes of attention with queries and keys of qk features, and values of v, of every head its own.
func (s Site) heads(qk, v int) graph.AttentionShape {
	return graph.AttentionShape{Batch: s.Batch, Context: s.Context, Heads: s.Heads, QK: qk, V: v, Groups: s.Heads}
}

// mask returns the site's mask; it is an error if there is none.
func (s Site) mask() *Mask {
	if s.Mask == nil {
		s.Failf("no mask: the site has to say which of the %d tokens attends to which", s.Context)
		return &Mask{}
	}
	return s.Mask
}

// act returns the site's activation; it is an error if there is none.
func (s Site) act() Layer {
	if s.Act == nil {
		s.Failf("no activation: the site needs one for the %d features inside", s.Inner)
		return ReLU{}
	}
	return s.Act
}

// norm makes the norm of that name.
func (s Site) norm(name string) Layer {
	if s.Norm == nil {
		return NewLayerNorm(s.At(name))
	}
	return Make(s.At(name), s.Norm)
}

// mlp makes the MLP of a block.
func (s Site) mlp() Layer {
	if s.MLP == nil {
		return NewMLP(s.At("mlp"))
	}
	return Make(s.At("mlp"), s.MLP)
}

// checkPositions is an error where the site does not know the positions.
func (s Site) checkPositions() {
	if s.Positions.Graph() == nil {
		s.Failf("no positions: the site has to say where the %d tokens stand", s.Batch*s.Context)
	}
}

// count returns the number of integers of an input; 0 after a failure.
func count(ids graph.Expr) int {
	if shape := ids.Shape(); len(shape) == 1 {
		return shape[0]
	}
	return 0
}
