package hand

import "math"

// Rollout describes the actions of a policy and their outcomes, row by row: actions a, their advantages A = R − v,
// weights w, and the logarithms of the probabilities with which they were drawn (for PPO). All but the actions are (n,
// 1). All of it is constant: no Δ goes to a baseline.
type Rollout struct {
	Actions                       []int
	Advantages, Weights, LogProbs Matrix[float64]
}

// share returns w/Σw.
func (r Rollout) share() Matrix[float64] { return r.Weights.Div(r.Weights.SumTokens()) }

// logProbs returns the logarithm of the probability of each action.
//
//	ln π(a) = z_a − ln Σ e^z                       (n, 1)
func logProbs[T Number](logits Matrix[T], actions []int) Matrix[T] {
	return logits.Mul(oneHot[T](logits, actions)).Sum().Sub(logits.LogSumExp())
}

// Reinforce is the objective of Williams (1992), named in section 2.6 of S. Diab.
//
//	L = −Σ_t w_t A_t ln π(a_t)/Σw                  (1, 1)
type Reinforce[T Number] struct{ Rollout Rollout }

// Forward returns L for logits (n, V).
func (l Reinforce[T]) Forward(logits Matrix[T]) Matrix[T] {
	r := l.Rollout
	judged := logProbs(logits, r.Actions).Mul(Lift[T](r.Advantages)).Mul(Lift[T](r.share()))
	return judged.SumTokens().Scale(-1)
}

// Backward returns Δ at the logits.
//
//	Δ_t = w_t A_t (π − onehot(a_t))/Σw             (n, V)
func (l Reinforce[T]) Backward(logits, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	r := l.Rollout
	toward := logits.Softmax().Sub(oneHot[T](logits, r.Actions)) // π − onehot
	return toward.Mul(Lift[T](r.Advantages)).Mul(Lift[T](r.share())).Mul(delta), nil
}

// PPO is the clipped objective of Schulman et al. (2017).
//
//	L = −Σ_t w_t min(r_t A_t, clip(r_t, 1 ± ε) A_t)/Σw,  r_t = π(a_t)/π_old(a_t)
type PPO[T Number] struct {
	Rollout Rollout
	Clip    float64 // ε
}

func (l PPO[T]) ratio(logits Matrix[T]) Matrix[T] {
	return logProbs(logits, l.Rollout.Actions).Sub(Lift[T](l.Rollout.LogProbs)).Exp() // r       (n, 1)
}

// Forward returns L for logits (n, V).
func (l PPO[T]) Forward(logits Matrix[T]) Matrix[T] {
	ratio, advantages := l.ratio(logits), Lift[T](l.Rollout.Advantages)
	judged := ratio.Mul(advantages).Min(ratio.Clamp(1-l.Clip, 1+l.Clip).Mul(advantages))
	return judged.Mul(Lift[T](l.Rollout.share())).SumTokens().Scale(-1)
}

// Backward returns Δ at the logits: Reinforce's times r where the objective follows the ratio, and 0 where it is
// clipped, because A has already pushed r beyond 1 ± ε.
//
//	Δ_t = w_t A_t r_t active_t (π − onehot(a_t))/Σw
//	active_t = 0 iff A_t > 0 and r_t > 1 + ε, or A_t < 0 and r_t < 1 − ε
func (l PPO[T]) Backward(logits, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	r := l.Rollout
	toward := logits.Softmax().Sub(oneHot[T](logits, r.Actions)) // π − onehot
	ratio, advantages := l.ratio(logits), Lift[T](r.Advantages)
	above := advantages.Step().Mul(ratio.Shift(-1 - l.Clip).Step())                    // A > 0 and r > 1 + ε
	below := advantages.Scale(-1).Step().Mul(ratio.Scale(-1).Shift(1 - l.Clip).Step()) // A < 0 and r < 1 − ε
	active := ratio.Mul(above.Add(below).Scale(-1).Shift(1))                           // r, or 0 where clipped
	return toward.Mul(active).Mul(advantages).Mul(Lift[T](r.share())).Mul(delta), nil
}

// ValueLoss is the mean squared error of a baseline v against the returns R, both (n, 1).
//
//	L = Σ_t w_t (v_t − R_t)²/Σw                    (1, 1)
type ValueLoss[T Number] struct{ Returns, Weights Matrix[float64] }

// Forward returns L.
func (l ValueLoss[T]) Forward(v Matrix[T]) Matrix[T] {
	return v.Sub(Lift[T](l.Returns)).Square().Mul(Lift[T](Rollout{Weights: l.Weights}.share())).SumTokens()
}

// Backward returns Δ at v.
//
//	Δ_t = 2 w_t (v_t − R_t)/Σw                     (n, 1)
func (l ValueLoss[T]) Backward(v, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return v.Sub(Lift[T](l.Returns)).Mul(Lift[T](Rollout{Weights: l.Weights}.share())).Scale(2).Mul(delta), nil
}

// GRPO is the objective of group relative policy optimization (Shao et al. 2024, equations 3 and 4): PPO's, with a
// penalty for leaving a reference policy. Its advantages are constants.
//
//	L = −Σ_t w_t (min(r_t A_t, clip(r_t, 1 ± ε) A_t) − β(e^δ_t − δ_t − 1))/Σw,  δ_t = ln π_ref(a_t) − ln π(a_t)
type GRPO[T Number] struct {
	PPO[T]
	Beta      float64         // β
	Reference Matrix[float64] // ln π_ref(a)               (n, 1)
}

func (l GRPO[T]) left(logits Matrix[T]) Matrix[T] {
	if !(0 <= l.Beta && l.Beta <= math.MaxFloat64) {
		return failed[T]("beta %v, want at least 0", l.Beta)
	}
	return Lift[T](l.Reference).Sub(logProbs(logits, l.Rollout.Actions)) // δ       (n, 1)
}

// Forward returns L for logits (n, V).
func (l GRPO[T]) Forward(logits Matrix[T]) Matrix[T] {
	left := l.left(logits)
	penalty := left.Exp().Sub(left).Shift(-1).Mul(Lift[T](l.Rollout.share())).SumTokens()
	return l.PPO.Forward(logits).Add(penalty.Scale(l.Beta))
}

// Backward returns Δ at the logits: the Δ of PPO and of the penalty, whose derivative by ln π(a) is 1 − e^δ.
//
//	Δ_t = PPO's + β w_t (e^δ_t − 1)(π − onehot(a_t))/Σw
func (l GRPO[T]) Backward(logits, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dx, _ = l.PPO.Backward(logits, delta)
	toward := logits.Softmax().Sub(oneHot[T](logits, l.Rollout.Actions)) // π − onehot
	pull := l.left(logits).Exp().Shift(-1).Mul(Lift[T](l.Rollout.share())).Scale(l.Beta)
	return dx.Add(toward.Mul(pull).Mul(delta)), nil
}

// DPO is the objective of direct preference optimization (Rafailov et al. 2023, equation 7), for texts of equal length
// one below the other. Text 2i is preferred to text 2i+1.
//
//	L = −mean_i ln σ(m_i),  m_i = β((s_2i − r_2i) − (s_2i+1 − r_2i+1)),  s_b = Σ_t ln π(y_bt)
type DPO[T Number] struct {
	Targets   []int
	Reference Matrix[float64] // r, one number for each text     (B, 1)
	Beta      float64
}

// Forward returns L for logits (B·T, V).
func (l DPO[T]) Forward(logits Matrix[T]) Matrix[T] {
	m := l.margins(logits)
	return softplus(m.Scale(-1)).SumTokens().Scale(1 / float64(m.Rows))
}

// Backward returns Δ at the logits; the row of an ignored target is zero.
//
//	Δ_bt = ±σ(−m_i) β/(B/2) (π − onehot(y_bt)), + in the preferred text, − in the other
func (l DPO[T]) Backward(logits, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	m, gt := l.margins(logits), oneHot[T](logits, l.Targets)
	if m.Err != nil {
		return m, nil
	}
	toward := logits.Softmax().Mul(gt.Sum()).Sub(gt) // π − onehot              (B·T, V)
	push := sigmoid(m.Scale(-1)).Scale(l.Beta / float64(m.Rows))
	length := l.length()
	var texts []Matrix[T]
	for b := range l.Reference.Rows {
		sign := 1 - 2*float64(b%2)
		texts = append(texts, toward.Tokens(b*length, (b+1)*length).Mul(push.Tokens(b/2, b/2+1).Scale(sign)))
	}
	return JoinTokens(texts...).Mul(delta), nil
}

// length returns the number of rows of a text.
func (l DPO[T]) length() int { return len(l.Targets) / max(1, l.Reference.Rows) }

// margins returns m                                   (B/2, 1)
func (l DPO[T]) margins(logits Matrix[T]) Matrix[T] {
	n, texts := len(l.Targets), l.Reference.Rows
	if !(0 < l.Beta && l.Beta <= math.MaxFloat64) {
		return failed[T]("beta %v, want a number above 0", l.Beta)
	}
	fits := texts >= 2 && texts%2 == 0 && n > 0 && n%texts == 0
	if logits = logits.sound(); logits.Err == nil && (!fits || logits.Rows != n) {
		return failed[T]("%d targets of %d texts for logits (%d, %d)", n, texts, logits.Rows, logits.Cols)
	}
	reference, gt, length := Lift[T](l.Reference).sound(), oneHot[T](logits, l.Targets), l.length()
	if logits.Err != nil {
		return logits
	}
	if reference.Err != nil {
		return reference
	}
	log := logits.Mul(gt).Sum().Sub(logits.LogSumExp().Mul(gt.Sum())) // ln π(y)  (B·T, 1)
	var list []Matrix[T]
	for i := 0; i < texts; i += 2 {
		s := func(b int) Matrix[T] {
			return log.Tokens(b*length, (b+1)*length).SumTokens().Sub(reference.Tokens(b, b+1))
		}
		list = append(list, s(i).Sub(s(i+1)).Scale(l.Beta))
	}
	return JoinTokens(list...)
}
