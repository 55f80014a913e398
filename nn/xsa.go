package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// xsaEps is added to ‖v‖², where the publication has at least 1e-12 for ‖v‖: both leave a value of zeros alone.
const xsaEps = 1e-12

// XSA is a Link after the heads, exclusive self-attention (arXiv:2603.09078): from the result of a head it takes what
// has the direction of the token's own value,
//
//	y ← y − λ·(y·v̂)·v̂,  v̂ = v/√(‖v‖² + 10⁻¹²)
//
// so that attention adds only what the token does not know itself. λ is 1 by NewXSA, and a number of each head by
// NewLearnedXSA. Heads that share a value each have its direction.
type XSA struct {
	Lambda graph.Expr // (H); empty for 1
	scope  graph.Scope
}

// NewXSA returns the Link without parameters.
func NewXSA(at Site) *XSA { return &XSA{scope: at.Scope} }

// NewLearnedXSA declares xsa_lambda (H), which starts at 1.
func NewLearnedXSA(at Site, heads fused.AttentionShape) *XSA {
	return &XSA{at.Param("xsa_lambda", graph.Const(1), heads.Heads), at.Scope}
}

// Forward returns y − λ·(y·v̂)·v̂.
func (l *XSA) Forward(in Inside) (result graph.Expr) { // (n, H·dh) → (n, H·dh)
	defer recoverUnbuilt(l, in.Y, &result)
	s := in.Y.Shape()
	if len(s) != 2 { // building has failed
		return in.Y
	}
	in.Y, in.QKV = in.Y.In(l.scope), in.QKV.In(l.scope)
	values := in.headValues()
	if z, ok := fused.Exclude(in.Y, values, l.Lambda, in.Heads, xsaEps); ok {
		return z
	}
	y, v := in.Y.Reshape(s[0]*in.Heads, in.V), values.Reshape(s[0]*in.Heads, in.V) // (n·H, dh)
	share := y.Mul(v).Sum().Div(v.Square().Sum().Shift(xsaEps))                    // y·v/(‖v‖² + ε)   (n·H, 1)
	if l.Lambda.Graph() != nil {
		share = share.Reshape(s[0], in.Heads).Mul(l.Lambda).Reshape(s[0]*in.Heads, 1)
	}
	return y.Sub(v.Mul(share)).Reshape(s[0], s[1])
}

// headValues returns the value of every head: (n, H·dh).
func (in Inside) headValues() graph.Expr {
	var order []int
	for h := range in.Heads {
		from := (in.Heads+in.Groups)*in.QK + h*in.Groups/in.Heads*in.V
		order = append(order, span(from, in.V)...)
	}
	return gathered(in.QKV, order)
}
