package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	G "gorgonia.org/gorgonia"
)

// UseBLAS makes Gorgonia's own operations multiply float32 matrices with this package's kernel on the given number of
// threads, 0 for one per processor: the reference form of a model becomes faster. It changes the whole process, so it
// is for programs to call before anything runs, not for libraries.
func UseBLAS(threads int) { G.Use(products{pool: kernel.NewPool(threads)}) }

// products is gonum's BLAS with another Sgemm.
type products struct {
	gonum.Implementation
	pool *kernel.Pool
}

// Sgemm is c = alpha·a·b + beta·c, with a or b transposed if asked.
func (p products) Sgemm(
	tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int,
) {
	if m < 1 || n < 1 || k < 1 { // what gonum says of empty and impossible sizes
		p.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	to := gemm.Matrix[float32]{Data: c, Stride: ldc}
	gemm.Mul(p.pool, m, n, k, alpha, view2(a, lda, tA), view2(b, ldb, tB), beta, to)
}

func view2(data []float32, stride int, t blas.Transpose) gemm.Matrix[float32] {
	return gemm.Matrix[float32]{Data: data, Stride: stride, Trans: t != blas.NoTrans}
}

// Peak is how many GFLOP/s this processor does in fused multiply-adds of float32 on the given number of threads, 0 for
// one per processor, with the instructions that the kernels use: what a speed is to be compared with. It is measured
// for some hundredths of a second.
func Peak(threads int) float64 { return gemm.Peak(kernel.NewPool(threads)) }
