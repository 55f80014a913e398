package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Reinforce is the objective of Williams (1992) in Diab §2.6: actions whose return exceeded the baseline become more
// likely, the others less likely,
//
//	L = −Σ w·A·ln π(a) / Σ w,  A = R − v
//
// Its gradient by the logits is w·A(π − onehot(a))/Σw: that of CrossEntropy with the actions as targets, weighted by
// their advantages. Any baseline v that does not depend on the action leaves the expectation of the gradient unchanged
// and makes it less noisy.
type Reinforce struct{ scope graph.Scope }

// NewReinforce declares nothing.
func NewReinforce(s graph.Scope) *Reinforce { return &Reinforce{s} }

// Forward returns the objective of the actions of r, which were drawn from logits (n, V), a scalar.
func (l *Reinforce) Forward(logits graph.Expr, r Rollout) (result graph.Expr) {
	defer recoverUnbuilt(l, logits, &result)
	z := logits.In(l.scope)
	if loss, ok := graph.Reinforce(z, r.Actions, r.Returns, r.Baseline, r.Weights); ok {
		return loss
	}
	return r.mean(r.logProbs(z).Mul(r.advantage())).Scale(-1)
}
