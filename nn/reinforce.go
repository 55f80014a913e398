package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Reinforce is the objective of Williams (1992) that Diab §2.6 speaks of: actions that were worth more than expected
// are made likelier, the others less likely,
//
//	L = −Σ w·A·ln π(a) / Σ w,  A = R − v
//
// Its gradient by the logits is w·A(π − onehot(a))/Σw: that of CrossEntropy with the actions for targets, weighed by
// what they were worth. Any baseline v that does not depend on the action leaves its expectation as it is and makes it
// less noisy.
type Reinforce struct{ scope graph.Scope }

// NewReinforce declares nothing.
func NewReinforce(s graph.Scope) *Reinforce { return &Reinforce{s} }

// Forward judges the actions of r that were drawn from logits (n, V): a scalar.
func (l *Reinforce) Forward(logits graph.Expr, r Rollout) (result graph.Expr) {
	defer whole(l, logits, &result)
	z := logits.In(l.scope)
	if loss, ok := graph.Reinforce(z, r.Actions, r.Returns, r.Baseline, r.Weights); ok {
		return loss
	}
	return r.mean(r.logProbs(z).Mul(r.advantage())).Scale(-1)
}
