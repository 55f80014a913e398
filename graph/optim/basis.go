package optim

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// basis is the preconditioner L or R of a side of a matrix, and the vectors that power brings near its eigenvectors:
// the rows of q. A basis without them is I.
type basis[T kernel.Float] struct {
	n     int
	sum   gemm.Matrix[T]
	q     gemm.Matrix[T]
	space []T // 2n² numbers, which hold anything
}

// newBasis returns the basis of a side of n entries, in the next two of s.Further, which it takes from there. Vectors
// that are 0, as at the start, become I.
func newBasis[T kernel.Float](o SOAP, n int, s *Step, space []T) (b basis[T]) {
	if !o.rotates(n) {
		return b
	}
	b = basis[T]{n, gemm.Mat(numbers[T](s.Further[0]), n), gemm.Mat(numbers[T](s.Further[1]), n), space[:2*n*n]}
	s.Further = s.Further[2:]
	if kernel.SumSquaresSerial(b.q.Data[:n]) == 0 {
		diagonal(b.q, 1)
	}
	return b
}

// add updates the mean of g·gᵀ for g (n, k).
func (b basis[T]) add(beta float64, k int, g gemm.Matrix[T]) {
	if b.n == 0 {
		return
	}
	gemm.MulSymmetric(b.n, k, T(1-beta), g, g.T(), gemm.Matrix[T]{}, gemm.Mat(b.space, b.n))
	for i, x := range b.sum.Data {
		b.sum.Data[i] = T(T(beta)*normal(x)) + b.space[i]
	}
}

// power multiplies the vectors by the preconditioner L/tr L + 10⁻⁶I and makes them orthonormal again. It returns the
// rotation from the old to the new ones, or nothing if L is 0 and the vectors stay.
func (b basis[T]) power() (turn gemm.Matrix[T]) {
	n, trace := b.n, 0.0
	for i := 0; i < len(b.sum.Data); i += n + 1 {
		trace += float64(b.sum.Data[i])
	}
	if !(trace > 0x1p-90 && trace <= math.MaxFloat32) {
		return turn
	}
	q, rest := gemm.Mat(b.space[:n*n], n), b.space[n*n:]
	copy(q.Data, b.q.Data)
	gemm.MulSerial(n, n, n, T(1/trace), b.q, b.sum, 1e-6, q)
	orthonormalise(n, n, q, rest)
	orthonormalise(n, n, q, rest) // again, since where the first time cancels digits, some angles are not right
	turn = gemm.Mat(rest, n)
	gemm.MulSerial(n, n, n, 1, q, b.q.T(), 0, turn)
	copy(b.q.Data, q.Data)
	return turn
}

// orthonormalise makes k rows of n numbers orthonormal by the method of Gram and Schmidt, in halves, so that it
// consists of products. space holds k²/4 numbers.
func orthonormalise[T kernel.Float](k, n int, x gemm.Matrix[T], space []T) {
	if k == 1 {
		normalise(x.Data[:n])
		return
	}
	half := k / 2
	rest, shares := x.From(half, 0), gemm.Mat(space, half)
	orthonormalise(half, n, x, space)
	gemm.MulSerial(k-half, half, n, 1, rest, x.T(), 0, shares)
	gemm.MulSerial(k-half, n, half, -1, shares, x, 1, rest)
	orthonormalise(k-half, n, rest, space)
}
