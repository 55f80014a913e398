package graph

import "math"

// Sigmoid returns the logistic function σ(x) = 1/(1 + e^(−x)), computed as e^min(x, 0)/(1 + e^(−|x|)), in which nothing
// overflows or cancels: it is 0 at −∞ and 1 at ∞, with derivative 0. The stock sigmoid is 1 from 19 on in float64, from
// 15 on in float32, and its derivative is 0 there.
func (x Expr) Sigmoid() Expr {
	top := x.ReLU()
	least := x.opposed("sub", -1, top, 0)                    // min(x, 0)
	away := x.opposed("sub", -1, top.Scale(2), math.Inf(-1)) // −|x|
	return least.Exp().Div(away.Exp().Shift(1))
}

// Softplus returns ln(1 + eˣ), computed as max(x, 0) + ln(1 + e^(−|x|)), in which nothing overflows: it is 0 at −∞ and
// ∞ at ∞. Its derivative is σ(x). The stock softplus is x from 16 on in float64, which is 1e-7 less.
func (x Expr) Softplus() Expr {
	top := x.ReLU()
	return x.opposed("sub", -1, top.Scale(2), math.Inf(-1)).Exp().Shift(1).Log().Add(top) // Exp is of −|x|
}
