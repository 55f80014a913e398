package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// SwiGLU is the feed-forward layer with a gate (Shazeer 2020), f features wide inside:
//
//	y = (silu(x·w_g + b_g) ∘ (x·w_u + b_u))·w_d + b_d,  silu(z) = z/(1 + e^(−z))
//
// It takes the place of an MLP, with three matrices instead of two and a fixed activation.
type SwiGLU struct {
	Gate, Fc, Proj Layer // w_g, w_u (d, f), w_d (f, d)
	drop           *Dropout
	scope          graph.Scope
}

// NewSwiGLU declares c_gate and c_fc (d, f), and c_proj (f, d).
func NewSwiGLU(at Site) *SwiGLU {
	inner := []int{at.Inner}
	return &SwiGLU{
		Gate:  at.affine("c_gate", at.Embd, inner, at.Bias, graph.Normal(0.02)),
		Fc:    at.affine("c_fc", at.Embd, inner, at.Bias, graph.Normal(0.02)),
		Proj:  at.affine("c_proj", at.Inner, []int{at.Embd}, at.Bias, residual(at)),
		drop:  NewDropout(at.At("dropout")),
		scope: at.Scope,
	}
}

// Forward returns (silu(x·w_g + b_g) ∘ (x·w_u + b_u))·w_d + b_d, after dropout.
func (l *SwiGLU) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	gate, up := l.Gate.Forward(x).In(l.scope), l.Fc.Forward(x).In(l.scope) // x·w_g + b_g, x·w_u + b_u   (n, f)
	h, ok := graph.SwiGLU(gate, up)
	if !ok {
		h = gate.Mul(gate.Sigmoid()).Mul(up) // silu(gate) ∘ up                (n, f)
	}
	return l.drop.Forward(l.Proj.Forward(l.scope.Place("act", h)))
}
