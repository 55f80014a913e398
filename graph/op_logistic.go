package graph

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// Sigmoid returns the kernel of Expr.Sigmoid, y = σ(x) = 1/(1 + e^(−x)).
func Sigmoid(x Expr) (y Expr, ok bool) {
	return activation(x, "sigmoid",
		entrywise[float32]{kernel.Sigmoid[float32], kernel.SigmoidBackward[float32]},
		entrywise[float64]{kernel.Sigmoid[float64], kernel.SigmoidBackward[float64]})
}

// SiLU returns the kernel of y = x·σ(x). At ±∞ it has the limits, as GELU. The derivative of the equation is rounded as
// coarsely as x, and lost where x is large; the kernel keeps it.
func SiLU(x Expr) (y Expr, ok bool) {
	return activation(x, "silu",
		entrywise[float32]{kernel.SiLU[float32], kernel.SiLUBackward[float32]},
		entrywise[float64]{kernel.SiLU[float64], kernel.SiLUBackward[float64]})
}

// Softplus returns the kernel of Expr.Softplus, y = ln(1 + eˣ).
func Softplus(x Expr) (y Expr, ok bool) {
	return activation(x, "softplus",
		entrywise[float32]{kernel.Softplus[float32], kernel.SoftplusBackward[float32]},
		entrywise[float64]{kernel.Softplus[float64], kernel.SoftplusBackward[float64]})
}
