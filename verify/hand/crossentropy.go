package hand

import "math"

// Reduction is the way to combine the losses of the tokens.
type Reduction int

// The reductions. The paper's Δ₁₂ = y_pred − y_gt belongs to the sum (erratum B10).
const (
	Mean Reduction = iota // over the targets that count
	Sum
)

// Ignore is the target of a token that is not scored. The token counts neither in the sum nor in the divisor of the
// mean.
const Ignore = -1

// CrossEntropy scores logits (n, V) against the index of the right word.
//
//	L = Σ_t (ln Σ_v e^{z_tv} − z_{t,y_t})       / #targets for Mean     (1, 1)
//
// With Smoothing s, y_gt is (1 − s)·onehot + s/V, so that z_{t,y_t} becomes (1 − s)·z_{t,y_t} + s·mean_v z_tv. ZLoss λ
// adds λ·ln² Σ_v e^{z_tv} for every token.
type CrossEntropy[T Number] struct {
	Targets   []int
	Reduction Reduction
	Smoothing float64 // 0 ≤ s < 1
	ZLoss     float64 // λ ≥ 0
}

// Forward returns L.
func (l CrossEntropy[T]) Forward(logits Matrix[T]) Matrix[T] {
	gt := l.right(logits)
	kept := gt.SumFeatures()                       // 1 or 0        (n, 1)
	right := logits.Mul(gt).SumFeatures()          // z_y           (n, 1)
	nll := logits.LogSumExp().Mul(kept).Sub(right) //               (n, 1)
	if s := l.Smoothing; s > 0 {
		nll = nll.Add(right.Sub(logits.Mean().Mul(kept)).Scale(s))
	}
	if l.ZLoss > 0 {
		nll = nll.Add(logits.LogSumExp().Square().Mul(kept).Scale(l.ZLoss))
	}
	return nll.SumTokens().Scale(l.weight()) // L             (1, 1)
}

// Backward returns Δ at the logits; the row of an ignored target is zero.
//
//	Δ = y_pred − y_gt                           / #targets for Mean     (n, V)
//
// With ZLoss, y_pred is multiplied by 1 + 2λ ln Σ e^z.
func (l CrossEntropy[T]) Backward(logits, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	gt := l.right(logits)
	kept := gt.SumFeatures()           // 1 or 0        (n, 1)
	pred := logits.Softmax().Mul(kept) // y_pred        (n, V)
	if s := l.Smoothing; s > 0 {
		uniform := gt.zeros().Shift(1 / float64(gt.Cols)).Mul(kept) // 1/V     (n, V)
		gt = gt.Scale(1 - s).Add(uniform.Scale(s))
	}
	if l.ZLoss > 0 {
		pred = pred.Mul(logits.LogSumExp().Scale(2 * l.ZLoss).Shift(1))
	}
	return pred.Sub(gt).Scale(l.weight()).Mul(delta), nil // Δ₁₂           (n, V)
}

// right returns the one-hot matrix of the right words.
func (l CrossEntropy[T]) right(logits Matrix[T]) Matrix[T] {
	if l.Reduction != Mean && l.Reduction != Sum {
		return failed[T]("reduction %d, want Mean or Sum", l.Reduction)
	}
	if !(0 <= l.Smoothing && l.Smoothing < 1 && 0 <= l.ZLoss && l.ZLoss <= math.MaxFloat64) {
		return failed[T]("smoothing %v and z-loss %v, want 0 ≤ smoothing < 1 and a z-loss of at least 0",
			l.Smoothing, l.ZLoss)
	}
	if math.IsInf(l.weight(), 1) {
		return failed[T]("%d targets, all of them ignored", len(l.Targets))
	}
	return oneHot[T](logits, l.Targets)
}

// oneHot returns the one-hot matrix (n, V) of the targets, with a row of zeros for an ignored target.
func oneHot[T Number](logits Matrix[T], targets []int) Matrix[T] {
	out := logits.zeros()
	if out.Rows != len(targets) {
		return failed[T]("%d targets for logits (%d, %d)", len(targets), logits.Rows, logits.Cols)
	}
	for i, target := range targets {
		switch {
		case target == Ignore:
		case target < 0 || target >= out.Cols:
			return failed[T]("target %d at %d, logits (%d, %d)", target, i, logits.Rows, logits.Cols)
		default:
			out.Data[i*out.Cols+target] = 1
		}
	}
	return out
}

// weight returns the factor of each token's loss.
func (l CrossEntropy[T]) weight() float64 {
	if l.Reduction == Sum {
		return 1
	}
	count := 0
	for _, target := range l.Targets {
		if target != Ignore {
			count++
		}
	}
	return 1 / float64(count)
}
