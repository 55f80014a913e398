package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// ValueHead is the learned value function of Diab §2.6: v = x·w + b, what the final hidden state of a token promises.
type ValueHead struct{ Linear }

// NewValueHead declares weight (d, 1) and bias, which start at 0: nothing is expected.
func NewValueHead(at Site) *ValueHead {
	return &ValueHead{*NewLinear(at.Scope, at.Embd, []int{1}, true, graph.Const(0)).(*Linear)}
}

// Forward is x·w + b.
func (l *ValueHead) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, 1)
	defer whole(l, x, &result)
	return l.Linear.Forward(x)
}

// ValueLoss is the mean squared error of what was expected:
//
//	L = Σ w(v − R)² / Σ w
//
// with the gradient 2w(v − R)/Σw.
type ValueLoss struct{ scope graph.Scope }

// NewValueLoss declares nothing.
func NewValueLoss(s graph.Scope) *ValueLoss { return &ValueLoss{s} }

// Forward compares values (n, 1) with the returns of r: a scalar.
func (l *ValueLoss) Forward(values graph.Expr, r Rollout) (result graph.Expr) {
	defer whole(l, values, &result)
	v := values.In(l.scope)
	if loss, ok := graph.SquaredError(v, r.Returns, r.Weights); ok {
		return loss
	}
	return r.mean(v.Sub(r.Returns).Square())
}
