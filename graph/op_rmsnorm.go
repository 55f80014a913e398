package graph

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// RMSNorm returns the kernel of y = x/√(mean(x²) + eps)∘w over the rows of x (n, d), with optional w (1, d). Squares
// overflow as in LayerNorm.
func RMSNorm(x, w Expr, eps float64) (y Expr, ok bool) {
	return norm("rmsnorm", x, w, Expr{}, eps,
		normKernels[float32]{kernel.RMSNorm[float32], kernel.RMSNormBackward[float32]},
		normKernels[float64]{kernel.RMSNorm[float64], kernel.RMSNormBackward[float64]})
}
