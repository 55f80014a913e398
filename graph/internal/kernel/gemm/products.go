package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// Products multiplies matrices: Exact uses their numbers unchanged, Rounded rounds them to bfloat16.
type Products[T kernel.Float] interface {
	Mul(p *kernel.Pool, m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T])
	MulAdd(p *kernel.Pool, m, n, k int, alpha T, a, b, d, c Matrix[T])
	MulSerial(m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T])
}

// Exact implements Products with the functions of this package.
type Exact[T kernel.Float] struct{}

func (Exact[T]) Mul(p *kernel.Pool, m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	Mul(p, m, n, k, alpha, a, b, beta, c)
}

func (Exact[T]) MulAdd(p *kernel.Pool, m, n, k int, alpha T, a, b, d, c Matrix[T]) {
	MulAdd(p, m, n, k, alpha, a, b, d, c)
}

func (Exact[T]) MulSerial(m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	MulSerial(m, n, k, alpha, a, b, beta, c)
}
