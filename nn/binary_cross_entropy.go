package nn

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// BinaryCrossEntropy is the loss of several independent labels, each present or absent, the mean over all entries:
//
//	L = mean(−y ln σ(z) − (1 − y) ln(1 − σ(z))) = mean(max(z, 0) − z∘y + ln(1 + e^(−|z|)))
//
// The right side never overflows. The gradients are (σ(z) − y)/n by z and −z/n by y, n being the number of entries.
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
