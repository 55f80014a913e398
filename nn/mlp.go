package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// MLP is the feed-forward layer of a block: y = act(x·w₁ + b₁)·w₂ + b₂, f features wide inside.
type MLP struct {
	Fc, Proj Layer
	Act      Layer
	drop     *Dropout
	scope    graph.Scope
}

// NewMLP declares c_fc (d, f) and c_proj (f, d).
func NewMLP(at Site) *MLP {
	return &MLP{
		Fc:    at.affine("c_fc", at.Embd, []int{at.Inner}, at.Bias, graph.Normal(0.02)),
		Proj:  at.affine("c_proj", at.Inner, []int{at.Embd}, at.Bias, residual(at)),
		Act:   at.act(),
		drop:  NewDropout(at.At("dropout")),
		scope: at.Scope,
	}
}

// residual returns the initialisation of the matrices that write to the residual stream. It keeps the variance of the
// stream independent of the number of blocks L: N(0, 0.02²/2L), as in GPT-2, whose blocks write twice. It is the same
// for a decoder's blocks, which write three times.
func residual(at Site) graph.Init {
	if at.Blocks < 1 {
		at.Failf("%d blocks: at least 1 is needed to initialise the residual stream", at.Blocks)
		return graph.Const(0)
	}
	return graph.Normal(0.02 / math.Sqrt(2*float64(at.Blocks)))
}

// Forward returns act(x·w₁ + b₁)·w₂ + b₂, then dropout.
func (l *MLP) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	h := In(l.scope, "act", l.Act)(l.Fc.Forward(x).In(l.scope)) // (n, f)
	return l.drop.Forward(l.Proj.Forward(h))
}
