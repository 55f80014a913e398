package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// ValueHead is the learned value function of Diab §2.6: v = x·w + b, the expected return after a token's final hidden
// state.
type ValueHead struct{ Linear }

// NewValueHead declares weight (d, 1) and bias. Both start at 0, so that the initial expectation is 0.
func NewValueHead(at Site) *ValueHead {
	return &ValueHead{*NewLinear(at.Scope, at.Embd, []int{1}, true, graph.Const(0)).(*Linear)}
}

// Forward returns x·w + b.
func (l *ValueHead) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, 1)
	defer recoverUnbuilt(l, x, &result)
	return l.Linear.Forward(x)
}

// ValueLoss is the mean squared error of the expected returns:
//
//	L = Σ w(v − R)² / Σ w
//
// with the gradient 2w(v − R)/Σw.
type ValueLoss struct{ scope graph.Scope }

// NewValueLoss declares nothing.
func NewValueLoss(s graph.Scope) *ValueLoss { return &ValueLoss{s} }

// Forward compares values (n, 1) with the returns of r, and returns a scalar.
func (l *ValueLoss) Forward(values graph.Expr, r Rollout) (result graph.Expr) {
	defer recoverUnbuilt(l, values, &result)
	v := values.In(l.scope)
	if loss, ok := graph.SquaredError(v, r.Returns, r.Weights); ok {
		return loss
	}
	return r.mean(v.Sub(r.Returns).Square())
}
