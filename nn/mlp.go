package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// MLP is the feed-forward layer of a block: y = act(x·w₁ + b₁)·w₂ + b₂, f features wide inside.
type MLP struct {
	Fc, Proj Layer
	Act      Layer
	conv     optional // of the f features
	drop     *Dropout
	scope    graph.Scope
}

// NewMLP declares c_fc (d, f) and c_proj (f, d).
func NewMLP(at Site) *MLP {
	return &MLP{
		Fc:    at.affine("c_fc", at.Embd, []int{at.Inner}, at.Bias, graph.Normal(0.02)),
		conv:  at.At("c_fc").conv(ConvInner, at.Inner),
		Proj:  at.affine("c_proj", at.Inner, []int{at.Embd}, at.Bias, residual(at)),
		Act:   at.act(),
		drop:  NewDropout(at.At("dropout")),
		scope: at.Scope,
	}
}

// residual returns the initialisation of the matrices that write to the residual stream, the site's or GPT-2's.
// The latter keeps the variance of the stream independent of the number of blocks L: N(0, 0.02²/2L), because blocks
// write twice. It is the same for a decoder's blocks, which write three times.
func residual(at Site) graph.Init {
	if at.Residual != nil {
		return at.Residual
	}
	if at.Blocks < 1 {
		at.Failf("%d blocks: at least 1 is needed to initialise the residual stream", at.Blocks)
		return graph.Const(0)
	}
	return graph.Normal(0.02 / math.Sqrt(2*float64(at.Blocks)))
}

// Forward returns act(x·w₁ + b₁)·w₂ + b₂, then dropout.
func (l *MLP) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.forward(x, l.conv.Forward)
}

// Step is Forward for the newest tokens of every sequence. It differs if the site has a short convolution in the MLP.
func (l *MLP) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.forward(x, l.conv.stepAt(at))
}

func (l *MLP) forward(x graph.Expr, conv func(graph.Expr) graph.Expr) graph.Expr {
	h := In(l.scope, "act", l.Act)(conv(l.Fc.Forward(x)).In(l.scope)) // (n, f)
	return l.drop.Forward(l.Proj.Forward(h))
}

// GLU is the feed-forward layer with a gate (Shazeer 2020), f features wide inside:
//
//	y = (act(x·w_g + b_g) ∘ (x·w_u + b_u))·w_d + b_d
//
// It takes the place of an MLP, with three matrices instead of two. With SiLU it is SwiGLU, with GELU it is GEGLU, and
// with ReLU it is ReGLU.
type GLU struct {
	Gate, Fc, Proj Layer // w_g, w_u (d, f), w_d (f, d)
	Act            Layer
	convs          [2]optional // of x·w_g + b_g and x·w_u + b_u
	limit          float64     // of clamped; 0 for act(gate) ∘ up
	drop           *Dropout
	scope          graph.Scope
}

// NewGLU declares c_gate and c_fc (d, f), and c_proj (f, d). act takes the place of the site's activation.
func NewGLU(at Site, act Layer) *GLU {
	inner := []int{at.Inner}
	at.Act = act
	return &GLU{
		Gate: at.affine("c_gate", at.Embd, inner, at.Bias, graph.Normal(0.02)),
		Fc:   at.affine("c_fc", at.Embd, inner, at.Bias, graph.Normal(0.02)),
		convs: [2]optional{
			at.At("c_gate").conv(ConvInner, at.Inner), at.At("c_fc").conv(ConvInner, at.Inner),
		},
		Proj:  at.affine("c_proj", at.Inner, []int{at.Embd}, at.Bias, residual(at)),
		Act:   at.act(),
		drop:  NewDropout(at.At("dropout")),
		scope: at.Scope,
	}
}

// Forward returns (act(x·w_g + b_g) ∘ (x·w_u + b_u))·w_d + b_d, after dropout.
func (l *GLU) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.forward(x, l.convs[0].Forward, l.convs[1].Forward)
}

// Step is Forward for the newest tokens of every sequence. It differs if the site has a short convolution in the MLP.
func (l *GLU) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.forward(x, l.convs[0].stepAt(at), l.convs[1].stepAt(at))
}

func (l *GLU) forward(x graph.Expr, convGate, convUp func(graph.Expr) graph.Expr) graph.Expr {
	gate := convGate(l.Gate.Forward(x)).In(l.scope) // x·w_g + b_g   (n, f)
	up := convUp(l.Fc.Forward(x)).In(l.scope)       // x·w_u + b_u   (n, f)
	h := l.hidden(gate, up)
	return l.drop.Forward(l.Proj.Forward(l.scope.Place("act", h))) // act(gate) ∘ up                (n, f)
}

// hidden returns the features between both products.
func (l *GLU) hidden(gate, up graph.Expr) graph.Expr { // (n, f), (n, f) → (n, f)
	if l.limit > 0 {
		return clamped(l.scope, gate, up, l.limit)
	}
	return multiplied(l.scope, l.Act, gate, up)
}

// clamped returns g·σ(1.702·g) ∘ (u + 1), where g is min(gate, limit) and u is up between −limit and limit.
func clamped(s graph.Scope, gate, up graph.Expr, limit float64) graph.Expr { // (n, f), (n, f) → (n, f)
	const slope = 1.702 // with which x·σ(slope·x) is near GELU (Hendrycks and Gimpel 2016)
	g, u := gate.Clamp(-math.MaxFloat64, limit), up.Clamp(-limit, limit).Shift(1)
	return multiplied(s, Sigmoid{}, times(g, slope), g.Mul(u))
}

// multiplied returns act(gate) ∘ up, in the layer at s.
func multiplied(s graph.Scope, act Layer, gate, up graph.Expr) graph.Expr { // (n, f), (n, f) → (n, f)
	if y, ok := gated(act, gate, up); ok {
		return y
	}
	return shaped(s, gate.Shape(), func() graph.Expr { return act.Forward(gate) }).In(s).Mul(up)
}

// gated returns the kernel of act(gate) ∘ up, if there is one.
func gated(act Layer, gate, up graph.Expr) (h graph.Expr, ok bool) {
	switch act.(type) {
	case SiLU:
		return fused.SwiGLU(gate, up)
	case GELU:
		return fused.GEGLU(gate, up)
	case GELUTanh:
		return fused.GEGLUTanh(gate, up)
	case ReLU:
		return fused.ReGLU(gate, up)
	case Sigmoid:
		return fused.GLU(gate, up)
	}
	return h, false
}

// act returns the site's activation. It reports an error on a site without one.
func (s Site) act() Layer {
	if s.Act == nil {
		s.Failf("no activation: the site needs one for the %d features inside", s.Inner)
		return ReLU{}
	}
	return s.Act
}
