package nn

import "github.com/pedestrian-ml/pedestrian/graph"

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
