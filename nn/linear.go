package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Linear is the affine layer y = x·w + b: (n, in) → (n, out). w is (in, out), which is the paper's a·w and the layout
// of GPT-2's files; b is optional.
type Linear struct {
	Weight, Bias graph.Expr
	scope        graph.Scope
}

// NewLinear declares s.weight (in, Σ out) and, if bias is true, s.bias, which starts at 0. It is an Affine.
func NewLinear(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer {
	l := &Linear{scope: s, Weight: s.Param("weight", init, in, sum(out))}
	l.Weight.PackColumns(out...)
	if bias {
		l.Bias = s.Param("bias", graph.Const(0), sum(out))
	}
	return l
}

func sum(xs []int) (n int) {
	for _, x := range xs {
		n += x
	}
	return n
}

// Forward returns x·w + b.
func (l *Linear) Forward(x graph.Expr) (result graph.Expr) { // (n, in) → (n, out)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := graph.Linear(x, l.Weight, l.Bias); ok {
		return y
	}
	y := x.MatMul(l.Weight) // x·w      (n, out)
	if l.hasBias() {
		y = y.Add(l.Bias) // x·w + b
	}
	return y
}

func (l *Linear) hasBias() bool { return l.Bias.Graph() != nil }
