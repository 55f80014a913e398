package graph

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// LayerNorm is the kernel of y = (x − μ)/√(σ² + eps)∘w + b over the rows of x (n, d), with w (1, d) and b (1, d), each
// empty for none; b without w is an error.
func LayerNorm(x, w, b Expr, eps float64) (y Expr, ok bool) {
	return norm("layernorm", x, w, b, eps,
		normKernels[float32]{kernel.LayerNorm[float32], kernel.LayerNormBackward[float32]},
		normKernels[float64]{kernel.LayerNorm[float64], kernel.LayerNormBackward[float64]})
}
