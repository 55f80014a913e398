package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Rollout is what a policy did, row by row beside its logits (n, V), and what came of it: the inputs of the objectives
// that learn from rewards (Diab §2.6). They are fed through Ints and Tensor.
type Rollout struct {
	Actions  graph.Expr // a, the ids drawn, and any where nothing was drawn: a run refuses one that does not exist  (n)
	Returns  graph.Expr // R, what each of them was worth  (n, 1)
	Weights  graph.Expr // w, 0 where nothing was drawn  (n, 1)
	LogProbs graph.Expr // ln π_old(a) when they were drawn  (n, 1); PPOClip needs them
	Baseline graph.Expr // v, what was to be expected  (n, 1), such as a ValueHead's; empty is 0
}

// NewRollout declares actions, returns, weights, which start at 1, and log_probs, for n rows and that many actions.
func NewRollout(s graph.Scope, n, actions int) Rollout {
	return Rollout{
		Actions:  s.Ints("actions", n, actions, graph.NoneIgnored),
		Returns:  s.Value("returns", graph.Const(0), n, 1),
		Weights:  s.Value("weights", graph.Const(1), n, 1),
		LogProbs: s.Value("log_probs", graph.Const(0), n, 1),
	}
}

// advantage is A = R − v. No gradient goes to v: it is to judge, not to please.
func (r Rollout) advantage() graph.Expr { // (n, 1)
	if r.Baseline.Graph() == nil {
		return r.Returns
	}
	return r.Returns.Sub(r.Baseline.Detach())
}

// logProbs is ln π(a), π the softmax of every row of z.
func (r Rollout) logProbs(z graph.Expr) graph.Expr { // (n, V) → (n, 1)
	v := 1
	if s := z.Shape(); len(s) == 2 {
		v = s[1]
	}
	return z.Pick(r.Actions.OneHot(v)).Sum().Sub(z.LogSumExp())
}

// mean is Σ w∘x/Σ w, a scalar.
func (r Rollout) mean(x graph.Expr) graph.Expr {
	return x.Mul(r.Weights).SumAll().Div(r.Weights.SumAll())
}
