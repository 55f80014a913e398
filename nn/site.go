package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Site describes the place of a layer in a model, and the style of the model. It is a value: what a constructor changes
// in it, such as the mask of one attention, holds for that layer only. Every constructor reads Scope and Dims. The
// settings of a kind of layers are in a struct of their own, whose comments name further readers; the rest ignore them.
type Site struct {
	graph.Scope
	Dims
	Block int // the index of the block, for an Attention that differs between blocks
	Style
	Sublayers
	Attending
	Caches Caches // stores tokens for Step, nil if only Forward is used; for Cached self-attention, NewElman
	Carry  *Carry // hands states on to the next window of a text; optional, for recurrences and short convolutions
}

// Style holds the settings of linear layers, norms and dropout.
type Style struct {
	Affine   Affine     // builds affine layers, NewLinear if nil; for attention, NewMLP, NewElman
	Adapt    Adapt      // replaces matrices of user-defined layers, see Param; optional
	Bias     bool       // layers have biases; for the readers of Affine, and norms
	Residual graph.Init // of the matrices that write to the residual stream, GPT-2's if nil; for attention, MLPs
	Eps      float64    // ε; for norms, NewTaylorAttention
	Dropout  float64    // the probability of dropping; for attention, NewMLP, NewDropout
}

// Sublayers holds the settings of blocks and of their MLPs.
type Sublayers struct {
	Norm    func(at Site) Layer // builds norms, NewLayerNorm if nil; for blocks
	MLP     func(at Site) Layer // builds the MLP, NewMLP if nil; for blocks
	Act     Layer               // the activation; for NewMLP
	Experts Experts             // for NewMoE
	Conv    Convs               // builds short convolutions; optional, for blocks, attention except latent, MLPs
	Stream  NamedStream         // the residual stream; post-norm blocks and NewElman refuse some
}

// Attending holds the settings of attention.
type Attending struct {
	Mask  *Mask                    // which token attends to which; for self-attention, except NewLongformer
	Links Links                    // around the heads of self-attention; what has no such link refuses it
	Cap   float64                  // of the scores, 0 for none; an attention that caps no scores refuses it
	Sinks func(at Site) graph.Expr // declares sinks of heads (H); optional; an attention without sinks refuses them

	Positions graph.Expr // (n), the positions of tokens; for NewLearnedPositions, NewSinusoidal, New*RoPE
	Rotary    Rotary     // for NewSelfAttention, NewLongformer, NewTaylorAttention; the rest refuse or ignore it
	Scores    Bias       // bias of the Placement; for an Attention that builds its own mask by NewBiasedMask
}

// Placement holds the parts that an encoding of positions adds to a model. Each part is optional.
type Placement struct {
	Layer  Layer  // applied to the embeddings
	Rotary Rotary // rotates queries and keys; becomes the Rotary of every Site
	Scores Bias   // added to the scores; becomes the Scores of every Site, and the bias of its Mask
}

// Rotary rotates queries and keys by the position of their token, so that their products depend on the distance.
type Rotary interface {
	// Rotate rotates the first groups·size columns of x (n, ≥ groups·size), each group of size columns separately, and
	// leaves the other columns unchanged.
	Rotate(x graph.Expr, groups, size int) graph.Expr
}

// At returns the site with the named scope inside s.
func (s Site) At(name string) Site { s.Scope = s.Sub("%s", name); return s }

// affine builds the named affine layer, with outputs given as blocks of columns.
func (s Site) affine(name string, in int, out []int, bias bool, init graph.Init) Layer {
	return Make(s.At(name), func(at Site) Layer {
		if s.Affine == nil {
			return NewLinear(at.Scope, in, out, bias, init)
		}
		return s.Affine(at.Scope, in, out, bias, init)
	})
}

// Param declares a parameter of a layer at s. It returns a matrix after Adapt: with an adapter, the matrix is the
// result of an operation, which has no Tensor.
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

// mask returns the site's mask. It reports an error on a site without one.
func (s Site) mask() *Mask {
	if s.Mask == nil {
		s.Failf("no mask: the site must define which of the %d tokens attend to which", s.Context)
		return &Mask{}
	}
	return s.Mask
}

// Make returns the layer that with builds for a site. It is an error of the site if with is nil, returns nil or panics.
func Make(at Site, with func(Site) Layer) (l Layer) {
	switch {
	case with == nil:
		at.Failf("no layer: the function that builds it is nil")
	case at.Try(func() { l = with(at) }) && l == nil:
		at.Failf("no layer: the function that builds it returns nil")
	}
	return l
}
