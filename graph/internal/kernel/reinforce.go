package kernel

import "github.com/pedestrian-ml/pedestrian/internal/elementary"

// Rollout holds n actions and their returns: all slices have n entries. Baseline is optional, nil stands for 0. Old is
// ln π_old(action), which PPOClip needs.
type Rollout[T Float] struct {
	Actions                         []int
	Returns, Baseline, Weights, Old []T
}

// advantage returns the difference between the return of action i and the baseline.
func (r Rollout[T]) advantage(i int) float64 {
	if r.Baseline == nil {
		return float64(r.Returns[i])
	}
	return float64(r.Returns[i]) - float64(r.Baseline[i])
}

// Reinforce returns −Σ w·A·ln π(action)/Σ w over the rows of logits (n, v), π the softmax of a row, with the advantage
// A = returns − baseline. It stores the row's log-sum-exp and its factor w·A/Σw in lse and factor (n) for
// ReinforceBackward.
func Reinforce[T Float](p *Pool, logits, lse, factor []T, r Rollout[T]) (loss float64) {
	CrossEntropy(p, logits, lse, r.Actions, -1)
	share, v := 1/total(r.Weights), len(logits)/len(lse)
	for i, a := range r.Actions {
		f := float64(r.Weights[i]) * r.advantage(i) * share
		factor[i] = T(f)
		loss -= float64(f * float64(logits[i*v+a]-lse[i]))
	}
	return loss
}

// PPOClip returns −Σ w·min(r·A, clip(r)·A)/Σ w with r = e^(ln π(action) − Old) and clip to 1 ± clip. The factor of a
// row is w·A·r/Σw, or 0 if the clipped product is smaller.
func PPOClip[T Float](p *Pool, logits, lse, factor []T, r Rollout[T], clip float64) (loss float64) {
	CrossEntropy(p, logits, lse, r.Actions, -1)
	share, v := 1/total(r.Weights), len(logits)/len(lse)
	for i, a := range r.Actions {
		adv, w := r.advantage(i), float64(r.Weights[i])*share
		ratio := elementary.Exp(float64(logits[i*v+a]-lse[i]) - float64(r.Old[i]))
		clipped := min(max(ratio, 1-clip), 1+clip)
		if factor[i] = T(w * adv * ratio); clipped*adv < ratio*adv {
			factor[i], ratio = 0, clipped
		}
		loss -= float64(w * adv * ratio)
	}
	return loss
}

// ReinforceBackward computes dz = scale·factor·(softmax(z) − onehot(action)) for every row, after PPOClip as well.
func ReinforceBackward[T Float](p *Pool, dz, logits, lse, factor []T, actions []int, scale T) {
	awayFrom(p, dz, logits, lse, actions, func(i int) T { return scale * factor[i] })
}

// SquaredError returns Σ w(x − y)²/Σ w. If weights is nil, every weight is 1.
func SquaredError[T Float](x, y, weights []T) (loss float64) {
	for i, v := range x {
		d, w := float64(v)-float64(y[i]), 1.
		if weights != nil {
			w = float64(weights[i])
		}
		loss += float64(w * d * d)
	}
	return loss / sumOf(weights, len(x))
}

// SquaredErrorBackward computes dx = scale·2w(x − y)/Σ w.
func SquaredErrorBackward[T Float](dx, x, y, weights []T, scale T) {
	f := 2 * float64(scale) / sumOf(weights, len(x))
	for i, v := range x {
		w := 1.
		if weights != nil {
			w = float64(weights[i])
		}
		dx[i] = T(f * w * (float64(v) - float64(y[i])))
	}
}

// sumOf returns the sum of n weights, or n if weights is nil.
func sumOf[T Float](weights []T, n int) float64 {
	if weights == nil {
		return float64(n)
	}
	return total(weights)
}

func total[T Float](x []T) (sum float64) {
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}
