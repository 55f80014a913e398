package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Rollout holds the actions of a policy, one for each row of its logits (n, V), and their returns: the inputs of the
// objectives that learn from rewards (Diab §2.6). They are set through Ints and Tensor.
type Rollout struct {
	Actions  graph.Expr // a, the ids drawn, and any existing id if nothing was drawn  (n)
	Returns  graph.Expr // R, the return of each action  (n, 1)
	Weights  graph.Expr // w, 0 if nothing was drawn  (n, 1)
	LogProbs graph.Expr // ln π_old(a) when the actions were drawn  (n, 1); only for PPOClip
	Baseline graph.Expr // v, the expected return  (n, 1), such as a ValueHead's; empty stands for 0
}

// NewRollout declares actions, returns, weights, which start at 1, and log_probs, for n rows and the given number of
// actions.
func NewRollout(s graph.Scope, n, actions int) Rollout {
	return Rollout{
		Actions:  s.Ints("actions", n, actions, graph.NoneIgnored),
		Returns:  s.Value("returns", graph.Const(0), n, 1),
		Weights:  s.Value("weights", graph.Const(1), n, 1),
		LogProbs: s.Value("log_probs", graph.Const(0), n, 1),
	}
}

// advantage returns A = R − v. No gradient goes to v, which must not adapt to the policy.
func (r Rollout) advantage() graph.Expr { // (n, 1)
	if r.Baseline.Graph() == nil {
		return r.Returns
	}
	return r.Returns.Sub(r.Baseline.Detach())
}

// logProbs returns ln π(a), π the softmax of every row of z.
func (r Rollout) logProbs(z graph.Expr) graph.Expr { // (n, V) → (n, 1)
	v := 1
	if s := z.Shape(); len(s) == 2 {
		v = s[1]
	}
	return z.Pick(r.Actions.OneHot(v)).Sum().Sub(z.LogSumExp())
}

// mean returns Σ w∘x/Σ w, a scalar.
func (r Rollout) mean(x graph.Expr) graph.Expr {
	return x.Mul(r.Weights).SumAll().Div(r.Weights.SumAll())
}
