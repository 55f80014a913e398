package hand

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
	return logits.Mul(oneHot[T](logits, actions)).SumFeatures().Sub(logits.LogSumExp())
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
