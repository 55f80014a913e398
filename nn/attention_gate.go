package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Gate is a Link after the heads (Qiu et al. 2025), which multiplies their results before the projection,
//
//	out = (heads ∘ g)·w_proj + b_proj,  g = σ(x·w_g + b_g)
//
// where x is the input of the attention. By NewElementGate every feature of every head has its own gate, by NewHeadGate
// all features of a head share one. A token can thus take nothing from the others, which a softmax cannot express.
type Gate struct {
	Fc    Layer // w_g (d, H·dh), or (d, H)
	order []int // the gate of each feature; nil if each has its own
	scope graph.Scope
}

// NewElementGate declares c_gate (d, H·dh).
func NewElementGate(at Site) *Gate { return newGate(at, at.Heads*at.V, nil) }

// NewHeadGate declares c_gate (d, H).
func NewHeadGate(at Site) *Gate {
	if !at.enumerable(at.V) {
		return &Gate{scope: at.Scope}
	}
	var order []int
	for i := range at.Heads * at.V {
		order = append(order, i/at.V)
	}
	return newGate(at, at.Heads, order)
}

func newGate(at Site, gates int, order []int) *Gate {
	fc := at.affine("c_gate", at.Embd, []int{gates}, at.Bias, graph.Normal(0.02))
	return &Gate{fc, order, at.Scope}
}

// Forward returns the heads' results times g.
func (l *Gate) Forward(in Inside) (result graph.Expr) { // (n, H·dh) → (n, H·dh)
	defer recoverUnbuilt(l, in.Y, &result)
	z := l.Fc.Forward(in.X).In(l.scope)
	if l.order != nil {
		return in.Y.Mul(gathered(Sigmoid{}.Forward(z), l.order))
	}
	if y, ok := fused.GLU(z, in.Y); ok {
		return y
	}
	return in.Y.Mul(Sigmoid{}.Forward(z))
}

// gathered returns the columns of x in the given order; −1 is a column of zeros.
func gathered(x graph.Expr, order []int) graph.Expr { // (n, d) → (n, len(order))
	if y, ok := fused.GatherCols(x, order); ok {
		return y
	}
	if len(order) == 0 || len(x.Shape()) != 2 { // building has failed
		return x
	}
	zeros := x.Columns(0, 1).Detach().Scale(0)
	columns := make([]graph.Expr, len(order))
	for i, column := range order {
		columns[i] = zeros
		if column >= 0 {
			columns[i] = x.Columns(column, column+1)
		}
	}
	return columns[0].Join(columns[1:]...)
}

// enumerable reports whether the heads have 1 to 2²⁰ features together, given the features of one head. Otherwise
// building fails.
func (s Site) enumerable(features int) bool {
	const most = 1 << 20
	if s.Heads < 1 || features < 1 || s.Heads > most || features > most || s.Heads*features > most {
		s.Failf("%d heads of %d features, want 1 to %d features of all heads", s.Heads, features, most)
		return false
	}
	return true
}
