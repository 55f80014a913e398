package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
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
	if loss, ok := graph.CrossEntropy(z, targets, !l.Sum, l.Smoothing, l.ZLoss); ok {
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

// Forward compares the logits (B·T, V) of each head with the targets (B·T), which are those of the first head, and
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
	if loss, ok := graph.BinaryCrossEntropy(z, y); ok {
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
	if loss, ok := graph.SquaredError(x, y, graph.Expr{}); ok {
		return loss
	}
	return x.Sub(y).Square().SumAll().Scale(1 / n)
}
