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
	kept := gt.Sum()                               // 1 or 0        (n, 1)
	right := logits.Mul(gt).Sum()                  // z_y           (n, 1)
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
	kept := gt.Sum()                   // 1 or 0        (n, 1)
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

// MultiToken scores the logits (n·B·T, V) of n heads, one head below another. Head i predicts the
// token i places ahead (Gloeckle et al. 2024, equation 2, whose sum over the heads is a mean here):
//
//	L = Σ_{i=1…n} CE(z_i, y_i)/n,  y_i[t] = y[t+i−1]     (1, 1)
//
// The last i−1 tokens of a sequence have no target for head i.
type MultiToken[T Number] struct {
	CrossEntropy[T]     // of the first head
	Heads, Length   int // n, T
}

// Forward returns L.
func (l MultiToken[T]) Forward(logits Matrix[T]) (loss Matrix[T]) {
	if bad := l.check(logits); bad.Err != nil {
		return bad
	}
	for i := range l.Heads {
		loss = sumOf(loss, l.ahead(i).Forward(l.rows(logits, i)))
	}
	return loss.Scale(1 / float64(l.Heads))
}

// Backward returns Δ at the logits of every head, a row for each of their rows.
func (l MultiToken[T]) Backward(logits, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	if bad := l.check(logits); bad.Err != nil {
		return bad, nil
	}
	var heads []Matrix[T]
	for i := range l.Heads {
		d, _ := l.ahead(i).Backward(l.rows(logits, i), delta.Scale(1/float64(l.Heads)))
		heads = append(heads, d)
	}
	return JoinTokens(heads...), nil
}

// check returns a matrix with an error unless the logits have the shape of the heads' logits.
func (l MultiToken[T]) check(logits Matrix[T]) Matrix[T] {
	n := len(l.Targets)
	if logits = logits.sound(); logits.Err != nil {
		return logits
	}
	fits := l.Heads >= 1 && l.Length >= 1 && (l.Heads == 1 || l.Heads < l.Length)
	if !fits || n%l.Length != 0 || logits.Rows != n*l.Heads {
		return failed[T]("%d heads of %d targets in sequences of %d for logits (%d, %d)",
			l.Heads, n, l.Length, logits.Rows, logits.Cols)
	}
	return logits
}

// rows returns the logits of head i, which counts from 0.
func (l MultiToken[T]) rows(logits Matrix[T], i int) Matrix[T] {
	n := len(l.Targets)
	return logits.Tokens(i*n, (i+1)*n)
}

// ahead returns the loss of head i, which counts from 0.
func (l MultiToken[T]) ahead(i int) CrossEntropy[T] {
	of := l.CrossEntropy
	of.Targets = nil
	for t := range l.Targets {
		if t%l.Length+i < l.Length {
			of.Targets = append(of.Targets, l.Targets[t+i])
		} else {
			of.Targets = append(of.Targets, Ignore)
		}
	}
	return of
}

// BinaryCrossEntropy scores logits z against labels y, entry by entry. A label is 0, 1 or a probability in between.
//
//	L = Σ (−y ln σ(z) − (1 − y) ln(1 − σ(z)))/N, N entries     (1, 1)
//
// With −ln σ(z) = ln(1 + e^(−z)) = softplus(z) − z and −ln(1 − σ(z)) = softplus(z), an entry is softplus(z) − z y. Its
// derivative needs e^(−z) = 1/e^z, as the derivative of Softplus does.
type BinaryCrossEntropy[T Number] struct{ Y Matrix[T] }

// Forward returns L.
func (l BinaryCrossEntropy[T]) Forward(z Matrix[T]) Matrix[T] {
	return softplus(z).Sub(z.Mul(l.Y)).SumTokens().Mean().Scale(1 / float64(z.Rows))
}

// Backward returns Δ at z and the gradient of y; the derivative of softplus is σ.
//
//	Δz = (σ(z) − y)/N                              (n, d)
//	∂y = −z/N                                      (n, d)
func (l BinaryCrossEntropy[T]) Backward(z, delta Matrix[T]) (dz Matrix[T], g Gradients[T]) {
	share := delta.Scale(1 / float64(z.Rows*z.Cols)) // Δ/N
	return sigmoid(z).Sub(l.Y).Mul(share), gradient(l.Y, "y", "y", "−z/N", z.Scale(-1).Mul(share))
}

// SquaredError is the mean of the squared differences from y.
//
//	L = Σ (x − y)²/N, N entries                    (1, 1)
type SquaredError[T Number] struct{ Y Matrix[T] }

// Forward returns L.
func (l SquaredError[T]) Forward(x Matrix[T]) Matrix[T] {
	return x.Sub(l.Y).Square().SumTokens().Mean().Scale(1 / float64(x.Rows))
}

// Backward returns Δ at x and the gradient of y, by the chain rule.
//
//	Δx = 2(x − y)/N                                (n, d)
//	∂y = −Δx                                       (n, d)
func (l SquaredError[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dx = x.Sub(l.Y).Scale(2 / float64(x.Rows*x.Cols)).Mul(delta)
	return dx, gradient(l.Y, "y", "y", "−2(x − y)/N", dx.Scale(-1))
}
