package verify

// Reduction says what becomes of the losses of the tokens.
type Reduction int

// The reductions. The paper's Δ₁₂ = y_pred − y_gt belongs to the sum (erratum B10).
const (
	Mean Reduction = iota // over the targets that count
	Sum
)

// Ignore is the target of a token that is not scored; it counts neither in the
// sum nor in the number that the mean divides by.
const Ignore = -1

// CrossEntropyForward scores logits (n, V) against the index of the right word.
//
//	L = Σ_t (ln Σ_v e^{z_tv} − z_{t,y_t})       / #targets for Mean     (1, 1)
func CrossEntropyForward[T Number](logits Matrix[T], targets []int, reduction Reduction) Matrix[T] {
	gt := oneHot[T](logits, targets)
	kept := gt.SumFeatures()                                 // 1 or 0        (n, 1)
	right := logits.Mul(gt).SumFeatures()                    // z_y           (n, 1)
	nll := logits.LogSumExp().Mul(kept).Sub(right)           //               (n, 1)
	return nll.SumTokens().Scale(weight(targets, reduction)) // L             (1, 1)
}

// CrossEntropyBackward returns Δ at the logits; the row of an ignored target is zero.
//
//	Δ = y_pred − y_gt                           / #targets for Mean     (n, V)
func CrossEntropyBackward[T Number](logits Matrix[T], targets []int, reduction Reduction) Matrix[T] {
	gt := oneHot[T](logits, targets)
	kept := gt.SumFeatures()                              // 1 or 0        (n, 1)
	pred := logits.Softmax().Mul(kept)                    // y_pred        (n, V)
	return pred.Sub(gt).Scale(weight(targets, reduction)) // Δ₁₂           (n, V)
}

// oneHot has a row of zeros for an ignored target.
func oneHot[T Number](logits Matrix[T], targets []int) Matrix[T] {
	if logits.Err == nil && logits.Rows != len(targets) {
		return failed[T]("%d targets for logits (%d, %d)", len(targets), logits.Rows, logits.Cols)
	}
	out := Zeros[T](logits.Rows, logits.Cols)
	for i, target := range targets[:logits.Rows] {
		switch {
		case target == Ignore:
		case target < 0 || target >= logits.Cols:
			return failed[T]("target %d at %d, logits (%d, %d)", target, i, logits.Rows, logits.Cols)
		default:
			out.Data[i*logits.Cols+target] = 1
		}
	}
	return out
}

// weight is the factor of each token's loss.
func weight(targets []int, reduction Reduction) float64 {
	if reduction == Sum {
		return 1
	}
	count := 0
	for _, target := range targets {
		if target != Ignore {
			count++
		}
	}
	return 1 / float64(count)
}
