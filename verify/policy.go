package verify

import "math"

// Rollout is what a policy did and what came of it, row by row: actions a, their advantages
// A = R − v, weights w, and the logarithms of the probabilities that they were drawn with
// (for PPO), each but the first (n, 1). All of it is constant: no Δ goes to a baseline.
type Rollout struct {
	Actions                       []int
	Advantages, Weights, LogProbs Matrix[float64]
}

// share is w/Σw.
func (r Rollout) share() Matrix[float64] { return r.Weights.Div(r.Weights.SumTokens()) }

// logProbs is the logarithm of the probability of each action.
//
//	ln π(a) = z_a − ln Σ e^z                       (n, 1)
func logProbs[T Number](logits Matrix[T], actions []int) Matrix[T] {
	return logits.Mul(oneHot[T](logits, actions)).SumFeatures().Sub(logits.LogSumExp())
}

// ReinforceForward is the objective of Williams (1992), named in section 2.6 of S. Diab.
//
//	L = −Σ_t w_t A_t ln π(a_t)/Σw                  (1, 1)
func ReinforceForward[T Number](logits Matrix[T], r Rollout) Matrix[T] {
	judged := logProbs(logits, r.Actions).Mul(Lift[T](r.Advantages.Mul(r.share())))
	return judged.SumTokens().Scale(-1)
}

// ReinforceBackward returns Δ at the logits.
//
//	Δ_t = w_t A_t (π − onehot(a_t))/Σw             (n, V)
func ReinforceBackward[T Number](logits Matrix[T], r Rollout) Matrix[T] {
	toward := logits.Softmax().Sub(oneHot[T](logits, r.Actions)) // π − onehot
	return toward.Mul(Lift[T](r.Advantages.Mul(r.share())))
}

// PPOForward is the clipped objective of Schulman et al. (2017).
//
//	L = −Σ_t w_t min(r_t A_t, clip(r_t, 1 ± ε) A_t)/Σw,  r_t = π(a_t)/π_old(a_t)
func PPOForward[T Number](logits Matrix[T], r Rollout, eps float64) Matrix[T] {
	ratio := logProbs(logits, r.Actions).Sub(Lift[T](r.LogProbs)).Exp() // r       (n, 1)
	out := Zeros[T](ratio.Rows, 1)
	out.Err = ratio.Err
	for i, q := range ratio.Data {
		a := r.Advantages.Data[i]
		out.Data[i] = q * number[T](a)
		if held := min(max(realPart(q), 1-eps), 1+eps) * a; held < realPart(q)*a { // a constant
			out.Data[i] = number[T](held)
		}
	}
	return out.Mul(Lift[T](r.share())).SumTokens().Scale(-1)
}

// PPOBackward returns Δ at the logits: Reinforce's times r where the objective follows the
// ratio, 0 where it is clipped, which is where A has pushed r beyond 1 ± ε already.
//
//	Δ_t = w_t A_t r_t active_t (π − onehot(a_t))/Σw
//	active_t = 0 iff A_t > 0 and r_t > 1 + ε, or A_t < 0 and r_t < 1 − ε
func PPOBackward(logits Matrix[float64], r Rollout, eps float64) Matrix[float64] {
	toward := logits.Softmax().Sub(oneHot[float64](logits, r.Actions)) // π − onehot
	pull := r.Advantages.Mul(r.share())                                // wA/Σw   (n, 1)
	for i, lp := range logProbs(logits, r.Actions).Data {
		ratio, a := math.Exp(lp-r.LogProbs.Data[i]), r.Advantages.Data[i]
		if a > 0 && ratio > 1+eps || a < 0 && ratio < 1-eps {
			ratio = 0
		}
		pull.Data[i] *= ratio
	}
	return toward.Mul(pull)
}

// ValueLossForward is the mean squared error of a baseline v against the returns R, both (n, 1).
//
//	L = Σ_t w_t (v_t − R_t)²/Σw                    (1, 1)
func ValueLossForward[T Number](v Matrix[T], returns, weights Matrix[float64]) Matrix[T] {
	return v.Sub(Lift[T](returns)).Square().Mul(Lift[T](Rollout{Weights: weights}.share())).SumTokens()
}

// ValueLossBackward returns Δ at v.
//
//	Δ_t = 2 w_t (v_t − R_t)/Σw                     (n, 1)
func ValueLossBackward(v, returns, weights Matrix[float64]) Matrix[float64] {
	return v.Sub(returns).Mul(Rollout{Weights: weights}.share()).Scale(2)
}
