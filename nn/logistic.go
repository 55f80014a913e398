package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Sigmoid is the logistic function, entry by entry: y = σ(x) = 1/(1 + e^(−x)), between 0 and 1.
type Sigmoid struct{}

// Forward returns σ(x).
func (Sigmoid) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := graph.Sigmoid(x); ok {
		return y
	}
	return x.Sigmoid()
}

// SiLU is the sigmoid linear unit (Elfwing, Uchibe and Doya 2017), also called swish, entry by entry: y = x·σ(x) = x/(1
// + e^(−x)).
type SiLU struct{}

// Forward returns x·σ(x).
func (SiLU) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := graph.SiLU(x); ok {
		return y
	}
	return x.Mul(x.Sigmoid())
}

// Softplus is a smooth max(x, 0) (Dugas et al. 2001), entry by entry: y = ln(1 + eˣ), positive, with derivative σ(x).
type Softplus struct{}

// Forward returns ln(1 + eˣ).
func (Softplus) Forward(x graph.Expr) graph.Expr { // (n, f) → (n, f)
	if y, ok := graph.Softplus(x); ok {
		return y
	}
	return x.Softplus()
}
