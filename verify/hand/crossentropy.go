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
type CrossEntropy[T Number] struct {
	Targets   []int
	Reduction Reduction
}

// Forward returns L.
func (l CrossEntropy[T]) Forward(logits Matrix[T]) Matrix[T] {
	gt := l.right(logits)
	kept := gt.SumFeatures()                       // 1 or 0        (n, 1)
	right := logits.Mul(gt).SumFeatures()          // z_y           (n, 1)
	nll := logits.LogSumExp().Mul(kept).Sub(right) //               (n, 1)
	return nll.SumTokens().Scale(l.weight())       // L             (1, 1)
}

// Backward returns Δ at the logits; the row of an ignored target is zero.
//
//	Δ = y_pred − y_gt                           / #targets for Mean     (n, V)
func (l CrossEntropy[T]) Backward(logits, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	gt := l.right(logits)
	kept := gt.SumFeatures()                              // 1 or 0        (n, 1)
	pred := logits.Softmax().Mul(kept)                    // y_pred        (n, V)
	return pred.Sub(gt).Scale(l.weight()).Mul(delta), nil // Δ₁₂           (n, V)
}

// right returns the one-hot matrix of the right words.
func (l CrossEntropy[T]) right(logits Matrix[T]) Matrix[T] {
	if l.Reduction != Mean && l.Reduction != Sum {
		return failed[T]("reduction %d, want Mean or Sum", l.Reduction)
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
