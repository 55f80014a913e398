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

// PPOClip is the objective of Schulman et al. (2017), which Diab §2.6 mentions without the formula. It allows several
// steps on the actions drawn from one policy, as long as the new policy stays close to it:
//
//	L = −Σ w·min(r·A, clip(r, 1−ε, 1+ε)·A) / Σ w,  r = π(a)/π_old(a),  A = R − v
//
// If r is outside 1 ± ε on the side to which A pushes it, the gradient is 0, otherwise A·r(π − onehot(a)) times w/Σw;
// at r = 1 that is Reinforce's.
type PPOClip struct {
	Clip  float64 // ε
	scope graph.Scope
}

// NewPPOClip returns the objective with ε = 0.2, as published, and declares nothing.
func NewPPOClip(s graph.Scope) *PPOClip { return &PPOClip{0.2, s} }

// Forward returns the objective of the actions of r under logits (n, V), a scalar.
func (l *PPOClip) Forward(logits graph.Expr, r Rollout) (result graph.Expr) {
	defer recoverUnbuilt(l, logits, &result)
	z := logits.In(l.scope)
	if loss, ok := graph.PPOClip(z, r.Actions, r.Returns, r.Baseline, r.Weights, r.LogProbs, l.Clip); ok {
		return loss
	}
	ratio := r.logProbs(z).Sub(r.LogProbs).Exp()                            // r                  (n, 1)
	above := ratio.Shift(l.Clip - 1).ReLU()                                 // max(r − (1−ε), 0)  (n, 1)
	clipped := above.Sub(ratio.Shift(-l.Clip - 1).ReLU()).Shift(1 - l.Clip) // clip(r)        (n, 1)
	free, held := ratio.Mul(r.advantage()), clipped.Mul(r.advantage())      // r·A, clip(r)·A     (n, 1)
	return r.mean(free.Sub(free.Sub(held).ReLU())).Scale(-1)                // min(a, b) = a − max(a − b, 0)
}

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
