package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// head is head j of sequence b.
type head[T kernel.Float] struct {
	Shape
	b, j          int
	q, k, v       gemm.Matrix[T]
	mask          []T // (Queries, Keys)
	queries, keys []span
	top, total    []T // m and ℓ of every query
	scale         T
	drop          kernel.DropMask
}

// head is head i of all, counted through the sequences.
func (f *Flash[T]) head(i int) head[T] {
	n, blocks := f.Queries, f.blocks()
	s := head[T]{Shape: f.Shape, b: i / f.Heads, j: i % f.Heads, scale: T(1 / math.Sqrt(float64(f.QK))), drop: f.Drop}
	p := f.In.head(f.Shape, s.b, s.j)
	s.q, s.k, s.v = p.Q, p.K, p.V
	m := f.Mask.index(s.b, s.j)
	s.mask = f.Mask.Data[m*n*f.Keys : (m+1)*n*f.Keys]
	s.queries, s.keys = f.Spans.queries[m*n:(m+1)*n], f.Spans.keys[m*blocks:(m+1)*blocks]
	s.top, s.total = f.LSE[i*n:(i+1)*n], f.LSE[len(f.LSE)/2+i*n:][:n]
	return s
}

// of is the head's part of a matrix like y.
func (s *head[T]) of(y []T) gemm.Matrix[T] {
	return gemm.Mat(y, s.Heads*s.V).From(s.b*s.Queries, s.j*s.V)
}
