package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	G "gorgonia.org/gorgonia"
)

// UseBLAS makes Gorgonia's own operations multiply float32 matrices with this package's kernel on the given number of
// threads, 0 for one per processor. This makes the reference form of a model faster. It changes the entire process:
// programs may call it before anything runs, libraries should not.
func UseBLAS(threads int) { G.Use(products{pool: kernel.NewPool(threads)}) }

// products implements BLAS by gonum's, except for Sgemm.
type products struct {
	gonum.Implementation
	pool *kernel.Pool
}

// Sgemm computes c = alpha·a·b + beta·c, with a or b optionally transposed.
func (p products) Sgemm(
	tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int,
) {
	if m < 1 || n < 1 || k < 1 { // gonum handles empty and invalid sizes
		p.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	to := gemm.Matrix[float32]{Data: c, Stride: ldc}
	gemm.Mul(p.pool, m, n, k, alpha, view2(a, lda, tA), view2(b, ldb, tB), beta, to)
}

func view2(data []float32, stride int, t blas.Transpose) gemm.Matrix[float32] {
	return gemm.Matrix[float32]{Data: data, Stride: stride, Trans: t != blas.NoTrans}
}

// Peak returns the number of GFLOP/s that this processor does in fused multiply-adds of float32 on the given number of
// threads, 0 for one per processor, with the instructions that the kernels use. It is the reference for measured
// speeds. The measurement takes some hundredths of a second.
func Peak(threads int) float64 { return gemm.Peak(kernel.NewPool(threads)) }
