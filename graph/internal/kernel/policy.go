package kernel

import "math"

// Reinforce returns −Σ w·A·ln π(action)/Σ w over the rows of logits (n, v), π the softmax of a row, with the advantage
// A = returns − baseline (n), baseline nil for 0. It leaves the row's log-sum-exp and its factor w·A/Σw in lse and factor
// (n) for PolicyBackward.
func Reinforce[T Float](p *Pool, logits, lse, factor []T, actions []int, returns, baseline, weights []T) (loss float64) {
	CrossEntropy(p, logits, lse, actions, -1)
	share, v := 1/total(weights), len(logits)/len(lse)
	for i, a := range actions {
		f := float64(weights[i]) * advantage(returns, baseline, i) * share
		factor[i] = T(f)
		loss -= f * float64(logits[i*v+a]-lse[i])
	}
	return loss
}

// PPO returns −Σ w·min(r·A, clip(r)·A)/Σ w with r = e^(ln π(action) − old) and clip to 1 ± clip. The factor of a row is
// w·A·r/Σw, or 0 where the clipped product is the smaller one.
func PPO[T Float](p *Pool, logits, lse, factor []T, actions []int, returns, baseline, weights, old []T, clip float64) (loss float64) {
	CrossEntropy(p, logits, lse, actions, -1)
	share, v := 1/total(weights), len(logits)/len(lse)
	for i, a := range actions {
		adv, w := advantage(returns, baseline, i), float64(weights[i])*share
		r := math.Exp(float64(logits[i*v+a]-lse[i]) - float64(old[i]))
		held := min(max(r, 1-clip), 1+clip)
		if factor[i] = T(w * adv * r); held*adv < r*adv {
			factor[i], r = 0, held
		}
		loss -= w * adv * r
	}
	return loss
}

func advantage[T Float](returns, baseline []T, i int) float64 {
	if baseline == nil {
		return float64(returns[i])
	}
	return float64(returns[i]) - float64(baseline[i])
}

func total[T Float](x []T) (sum float64) {
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}

// PolicyBackward computes dz = scale·factor·(softmax(z) − onehot(action)) for every row.
func PolicyBackward[T Float](p *Pool, dz, logits, lse, factor []T, actions []int, scale T) {
	v := len(logits) / len(lse)
	p.Range(len(lse), rowGrain(v), func(from, to int) {
		for i := from; i < to; i++ {
			z, dz, f := logits[i*v:(i+1)*v], dz[i*v:(i+1)*v], scale*factor[i]
			if f == 0 {
				clear(dz)
				continue
			}
			for j, x := range z {
				dz[j] = Exp(x-lse[i]) * f
			}
			dz[actions[i]] -= f
		}
	})
}

// SquaredError returns Σ w(x − y)²/Σ w.
func SquaredError[T Float](x, y, weights []T) (loss float64) {
	for i, v := range x {
		d := float64(v) - float64(y[i])
		loss += float64(weights[i]) * d * d
	}
	return loss / total(weights)
}

// SquaredErrorBackward computes dx = scale·2w(x − y)/Σ w.
func SquaredErrorBackward[T Float](dx, x, y, weights []T, scale T) {
	f := 2 * float64(scale) / total(weights)
	for i, v := range x {
		dx[i] = T(f * float64(weights[i]) * (float64(v) - float64(y[i])))
	}
}
