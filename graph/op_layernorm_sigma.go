package graph

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// LayerNormSigma is the kernel of y = (x − μ)/(σ + eps)∘w + b, with eps beside the root instead of inside; the rest is as in
// LayerNorm.
func LayerNormSigma(x, w, b Expr, eps float64) (y Expr, ok bool) {
	return norm("layernorm_sigma", x, w, b, eps,
		normKernels[float32]{kernel.LayerNormSigma[float32], kernel.LayerNormSigmaBackward[float32]},
		normKernels[float64]{kernel.LayerNormSigma[float64], kernel.LayerNormSigmaBackward[float64]})
}
