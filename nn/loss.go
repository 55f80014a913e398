package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// CrossEntropy is the loss of next-token prediction (section 1 of the paper): the sum, over the tokens whose target
// counts, of
//
//	−ln softmax(z)[target] = ln Σ e^z − z[target]
//
// or that sum divided by their number. The paper's Δ₁₂ = y_pred − y_gt is the gradient of the sum, whereas most code
// uses the mean (errata B10): Sum chooses. A target equal to the ignored value declared by graph.Ints counts in neither
// the sum nor the number (errata D6).
//
// With Smoothing s, the target has the probability 1 − s + s/V in place of 1, and every other token s/V (Szegedy et al.
// 2015, section 7). With ZLoss λ, a token also costs λ·ln² Σ e^z, which keeps Σ e^z near 1 (Chowdhery et al. 2022,
// PaLM, section 5, with λ = 10⁻⁴). The loss of a token is then
//
//	ln Σ e^z − (1 − s)·z[target] − s·mean(z) + λ·ln² Σ e^z
type CrossEntropy struct {
	Sum       bool
	Smoothing float64 // s, 0 ≤ s < 1
	ZLoss     float64 // λ ≥ 0
	scope     graph.Scope
}

// NewCrossEntropy returns the loss as the mean over the targets that count; set Sum for the sum.
func NewCrossEntropy(s graph.Scope) *CrossEntropy { return &CrossEntropy{scope: s} }

// Forward compares logits (n, V) with targets (n) and returns a scalar.
func (l *CrossEntropy) Forward(logits, targets graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, logits, &result)
	z, targets := logits.In(l.scope), targets.In(l.scope)
	if !(0 <= l.Smoothing && l.Smoothing < 1 && 0 <= l.ZLoss && l.ZLoss <= math.MaxFloat64) {
		l.scope.Failf("smoothing %v and z-loss %v: want 0 ≤ smoothing < 1 and a z-loss of at least 0",
			l.Smoothing, l.ZLoss)
	}
	if loss, ok := fused.CrossEntropy(z, targets, !l.Sum, l.Smoothing, l.ZLoss); ok {
		return loss
	}
	v := 1
	if s := z.Shape(); len(s) == 2 {
		v = s[1]
	}
	y := targets.OneHot(v)                       // y_gt, 0 where ignored   (n, V)
	counts := y.Sum()                            // 1 or 0                  (n, 1)
	lse, right := z.LogSumExp(), z.Pick(y).Sum() // ln Σ e^z, z[target]     (n, 1)
	nll := lse.Mul(counts).Sub(right)            // ln Σ e^z − z[target]    (n, 1)
	if s := l.Smoothing; s > 0 {
		mean := z.Mean().Mul(counts)
		nll = nll.Add(right.Sub(mean).Scale(s))
	}
	if l.ZLoss > 0 {
		nll = nll.Add(lse.Square().Mul(counts).Scale(l.ZLoss))
	}
	loss := nll.SumAll()
	if l.Sum {
		return loss
	}
	return loss.Div(counts.SumAll())
}

// MultiToken is the loss of multi-token prediction (Gloeckle et al. 2024, arXiv:2404.19737, equation 2): head i of n
// predicts the token i places ahead of each position. With the cross entropy CE and the targets y of the first head,
//
//	L = 1/n·Σ_{i=1…n} CE(z_i, y_i),  y_i[t] = y[t+i−1]
//
// The last i−1 positions of a sequence have no target for head i and are ignored. The paper's loss is the sum over the
// heads; the mean has the size of the loss of the first head alone.
type MultiToken struct {
	CrossEntropy // of every head
	length       int
}

// NewMultiToken returns the loss for sequences of length tokens.
func NewMultiToken(s graph.Scope, length int) *MultiToken {
	return &MultiToken{CrossEntropy{scope: s}, length}
}

// Forward compares the logits (B·T, V) of each head with the targets (B·T), the targets of the first head, and
// returns a scalar. With one head it is the cross entropy.
func (l *MultiToken) Forward(heads []graph.Expr, targets graph.Expr) (loss graph.Expr) {
	defer recoverUnbuilt(l, targets, &loss)
	if n := len(heads); n < 1 || n > 1 && n >= l.length {
		l.scope.Failf("%d heads for sequences of %d tokens: want at least 1, and fewer than the tokens", n, l.length)
		return graph.Expr{}.In(l.scope)
	}
	for i, z := range heads {
		if i == 0 {
			loss = l.CrossEntropy.Forward(z, targets)
			continue
		}
		loss = loss.Add(l.CrossEntropy.Forward(z, targets.In(l.scope).Advance(i, l.length)))
	}
	if n := len(heads); n > 1 {
		loss = loss.Scale(1 / float64(n))
	}
	return loss
}

// BinaryCrossEntropy is the loss of several independent labels, each present or absent, the mean over all entries:
//
//	L = mean(−y ln σ(z) − (1 − y) ln(1 − σ(z))) = mean(max(z, 0) − z∘y + ln(1 + e^(−|z|)))
//
// The right side never overflows; it needs e^(−z) = 1/e^z, as Softplus does. The gradients are (σ(z) − y)/n by z and
// −z/n by y, n being the number of entries.
type BinaryCrossEntropy struct{ scope graph.Scope }

// NewBinaryCrossEntropy declares nothing.
func NewBinaryCrossEntropy(s graph.Scope) *BinaryCrossEntropy { return &BinaryCrossEntropy{s} }

// Forward compares logits z with labels y of the same shape, each from 0 to 1, and returns a scalar.
func (l *BinaryCrossEntropy) Forward(z, y graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, z, &result)
	z, y, n := pairOf(l.scope, z, y)
	if loss, ok := fused.BinaryCrossEntropy(z, y); ok {
		return loss
	}
	top := z.ReLU()                                  // max(z, 0)
	rest := z.Sub(top.Scale(2)).Exp().Shift(1).Log() // ln(1 + e^(−|z|))
	return top.Sub(z.Mul(y)).Add(rest).SumAll().Scale(1 / n)
}

// pairOf returns two operands of a loss at s, whose shapes must be the same: a column and a row would silently be
// broadcast to a matrix. n is the number of their entries.
func pairOf(s graph.Scope, x, y graph.Expr) (_, _ graph.Expr, n float64) {
	x, y = x.In(s), y.In(s)
	if a, b := x.Shape(), y.Shape(); !slices.Equal(a, b) {
		s.Failf("shapes %v and %v differ", a, b)
	}
	return x, y, x.Entries()
}

// SquaredError is the loss of regression, the mean over all entries:
//
//	L = mean((x − y)²)
//
// with the gradients 2(x − y)/n by x and its negative by y, n being the number of entries.
type SquaredError struct{ scope graph.Scope }

// NewSquaredError declares nothing.
func NewSquaredError(s graph.Scope) *SquaredError { return &SquaredError{s} }

// Forward compares x with y of the same shape, and returns a scalar.
func (l *SquaredError) Forward(x, y graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, x, &result)
	x, y, n := pairOf(l.scope, x, y)
	if loss, ok := fused.SquaredError(x, y, graph.Expr{}); ok {
		return loss
	}
	return x.Sub(y).Square().SumAll().Scale(1 / n)
}

// Rollout holds the actions of a policy, one for each row of its logits (n, V), and their returns: the inputs of the
// objectives that learn from rewards (Diab §2.6). They are set through Ints and Tensor.
type Rollout struct {
	Actions  graph.Expr // a, the ids drawn, and any existing id if nothing was drawn  (n)
	Returns  graph.Expr // R, the return of each action  (n, 1)
	Weights  graph.Expr // w, 0 if nothing was drawn  (n, 1)
	LogProbs graph.Expr // ln π_old(a) when the actions were drawn  (n, 1); only for PPOClip
	Baseline graph.Expr // v, the expected return  (n, 1), such as a ValueHead's; empty stands for 0
	// Reference is ln π_ref(a)  (n, 1); only for GRPO with a penalty. NewRollout leaves it empty.
	Reference graph.Expr
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

// LogProbs returns ln softmax(z)[id], the logarithm of the probability of each row's id, and 0 for an ignored id. Its
// gradient by a row of logits is Δ·(onehot(id) − softmax(z)).
func LogProbs(z, ids graph.Expr) graph.Expr { // (n, V) → (n, 1)
	if y, ok := fused.LogProbs(z, ids); ok {
		return y
	}
	v := 1
	if s := z.Shape(); len(s) == 2 {
		v = s[1]
	}
	y := ids.OneHot(v)
	return z.Pick(y).Sum().Sub(z.LogSumExp().Pick(y.Sum()))
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
// Its gradient by the logits is w·A(π − onehot(a))/Σw: the gradient of CrossEntropy with the actions as targets,
// weighted by their advantages. Any baseline v that does not depend on the action leaves the expectation of the
// gradient unchanged and makes it less noisy.
type Reinforce struct{ scope graph.Scope }

// NewReinforce declares nothing.
func NewReinforce(s graph.Scope) *Reinforce { return &Reinforce{s} }

// Forward returns the objective of the actions of r, which were drawn from logits (n, V), a scalar.
func (l *Reinforce) Forward(logits graph.Expr, r Rollout) (result graph.Expr) {
	defer recoverUnbuilt(l, logits, &result)
	z := logits.In(l.scope)
	if loss, ok := fused.Reinforce(z, r.Actions, r.Returns, r.Baseline, r.Weights); ok {
		return loss
	}
	return r.mean(LogProbs(z, r.Actions).Mul(r.advantage())).Scale(-1)
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
	if loss, ok := fused.PPOClip(z, r.Actions, r.Returns, r.Baseline, r.Weights, r.LogProbs, l.Clip); ok {
		return loss
	}
	return r.mean(l.clipped(LogProbs(z, r.Actions).Sub(r.LogProbs).Exp(), r)).Scale(-1)
}

// clipped returns min(r·A, clip(r, 1−ε, 1+ε)·A) for the ratios r.
func (l *PPOClip) clipped(ratio graph.Expr, r Rollout) graph.Expr { // (n, 1) → (n, 1)
	above := ratio.Shift(l.Clip - 1).ReLU()                                 // max(r − (1−ε), 0)  (n, 1)
	clipped := above.Sub(ratio.Shift(-l.Clip - 1).ReLU()).Shift(1 - l.Clip) // clip(r)        (n, 1)
	free, held := ratio.Mul(r.advantage()), clipped.Mul(r.advantage())      // r·A, clip(r)·A     (n, 1)
	return free.Sub(free.Sub(held).ReLU())                                  // min(a, b) = a − max(a − b, 0)
}

// GRPO is the objective of group relative policy optimization (Shao et al. 2024, arXiv:2402.03300, equations 3 and 4).
// It is PPOClip's, without a learned baseline, and with a penalty for leaving a reference policy:
//
//	L = −Σ w·(min(r·A, clip(r, 1−ε, 1+ε)·A) − β·(e^δ − δ − 1)) / Σ w,  δ = ln π_ref(a) − ln π(a)
//
// Several texts answer each prompt. The caller sets the returns to the advantages within such a group, (R − mean)/std
// (see gpt/preference), and w to 1 over the number of a text's tokens, or to 1 so that all tokens count the same. The
// penalty estimates the divergence D_KL(π‖π_ref) from the tokens drawn, and is never negative.
//
// With the advantage A and PPOClip's factor A·r, or 0 where it clips, the gradient by a row of logits is
// (A·r + β·(e^δ − 1))·(π − onehot(a)) times w/Σw.
type GRPO struct {
	PPOClip
	Beta float64 // β ≥ 0
}

// NewGRPO returns the objective with ε = 0.2 and β = 0.04, as published, and declares nothing.
func NewGRPO(s graph.Scope) *GRPO { return &GRPO{*NewPPOClip(s), 0.04} }

// Forward returns the objective of the actions of r under logits (n, V), a scalar. With β above 0, r needs Reference.
func (l *GRPO) Forward(logits graph.Expr, r Rollout) (result graph.Expr) {
	defer recoverUnbuilt(l, logits, &result)
	switch penalised := l.Beta > 0; {
	case !(l.Clip >= 0):
		l.scope.Failf("clip: got %v, want at least 0", l.Clip)
	case !(0 <= l.Beta && l.Beta <= math.MaxFloat64):
		l.scope.Failf("beta: got %v, want at least 0", l.Beta)
	case penalised && r.Reference.Graph() == nil:
		l.scope.Failf("beta: got %v without the reference's log-probabilities, want 0", l.Beta)
	case penalised:
		log := LogProbs(logits.In(l.scope), r.Actions) //                          (n, 1)
		left := r.Reference.Sub(log)                   // δ                        (n, 1)
		penalty := left.Exp().Sub(left).Shift(-1)      // e^δ − δ − 1              (n, 1)
		value := l.clipped(log.Sub(r.LogProbs).Exp(), r)
		return r.mean(value.Sub(penalty.Scale(l.Beta))).Scale(-1)
	}
	return l.PPOClip.Forward(logits, r)
}

// DPO is the objective of direct preference optimization (Rafailov et al. 2023, arXiv:2305.18290, equation 7). It
// learns from pairs of texts with the same prompt, of which people prefer the first. Of a batch of B texts, 2i is
// preferred to 2i+1:
//
//	L = −2/B·Σ_i ln σ(m_i),  m_i = β·((s_2i − r_2i) − (s_2i+1 − r_2i+1)),  s_b = Σ_t ln π(y_bt)
//
// The sum s runs over the targets of the answer, which count, and r is the same sum under a reference policy, the
// model before this training. By the logits of an answer's token, the gradient is 2β/B·σ(−m)·(π − onehot(y)) in the
// preferred text, and the negative of this in the other one.
type DPO struct {
	Beta  float64 // β > 0: the larger, the closer the policy stays to the reference
	batch int
	scope graph.Scope
}

// NewDPO returns the objective for batch texts, an even number, with β = 0.1, and declares nothing.
func NewDPO(s graph.Scope, batch int) *DPO { return &DPO{0.1, batch, s} }

// Forward compares the logits (B·T, V) of the texts with their targets (B·T) and the sums of the reference (B, 1), and
// returns a scalar.
func (l *DPO) Forward(logits, targets, reference graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, logits, &result)
	z, targets, reference := logits.In(l.scope), targets.In(l.scope), reference.In(l.scope)
	rows := z.Shape()
	switch {
	case l.batch < 2 || l.batch%2 > 0 || len(rows) != 2 || rows[0]%l.batch > 0:
		l.scope.Failf("logits of shape %v for %d texts, want the same number of rows for each of an even number",
			rows, l.batch)
		return graph.Expr{}.In(l.scope)
	case !(0 < l.Beta && l.Beta <= math.MaxFloat64):
		l.scope.Failf("beta: got %v, want a number above 0", l.Beta)
	}
	s := LogProbs(z, targets).Reshape(l.batch, rows[0]/l.batch).Sum()     // s          (B, 1)
	pairs := s.Sub(reference).Reshape(l.batch/2, 2)                       // s − r      (B/2, 2)
	against := pairs.Columns(1, 2).Sub(pairs.Columns(0, 1)).Scale(l.Beta) // −m         (B/2, 1)
	return against.Softplus().SumAll().Scale(2 / float64(l.batch))        // −ln σ(m) = softplus(−m)
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
	if loss, ok := fused.SquaredError(v, r.Returns, r.Weights); ok {
		return loss
	}
	return r.mean(v.Sub(r.Returns).Square())
}
