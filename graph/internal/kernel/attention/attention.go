// Package attention implements the attention of the paper and its relatives, forward, backward and for one more token:
// Flash and its KVCache with the weights softmax(q·kᵀ), Linear with φ(q)·φ(k), and the LatentCache.
package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Shape holds the sizes of attention: in each of Batch sequences, Queries tokens attend to Keys tokens in Heads heads
// with QK features of a query or key and V of a value. The heads form Groups of consecutive heads that share their keys
// and values. If Cap is not 0, a score s is replaced by Cap·tanh(s/Cap) before the mask is added.
type Shape struct {
	Batch, Queries, Keys, Heads, QK, V, Groups int
	Cap                                        float64
	Weights                                    Weights
}

// Width returns the number of columns of packed queries, keys and values.
func (h Shape) Width() int { return h.Heads*h.QK + h.Groups*(h.QK+h.V) }

// shared returns the number of heads in a group.
func (h Shape) shared() int { return h.Heads / h.Groups }

// Projections holds the queries of all heads and the keys and values of all groups, or their gradients. The rows are
// tokens; within a row, the heads or groups lie next to each other.
type Projections[T kernel.Float] struct{ Q, K, V gemm.Matrix[T] }

// Packed splits one matrix (Batch·Queries, Heads·QK + Groups·(QK + V)) of tokens that attend to one another.
func Packed[T kernel.Float](h Shape, qkv []T) Projections[T] {
	m := gemm.Mat(qkv, h.Width())
	return Projections[T]{m, m.From(0, h.Heads*h.QK), m.From(0, (h.Heads+h.Groups)*h.QK)}
}

// Crossed splits keys and values in one matrix (Batch·Keys, Groups·(QK + V)); the queries are (Batch·Queries,
// Heads·QK).
func Crossed[T kernel.Float](h Shape, q, kv []T) Projections[T] {
	m := gemm.Mat(kv, h.Groups*(h.QK+h.V))
	return Projections[T]{gemm.Mat(q, h.Heads*h.QK), m, m.From(0, h.Groups*h.QK)}
}

// head returns the part of head j of sequence b.
func (p Projections[T]) head(h Shape, b, j int) Projections[T] {
	group := j / h.shared()
	return Projections[T]{p.Q.From(b*h.Queries, j*h.QK), p.K.From(b*h.Keys, group*h.QK), p.V.From(b*h.Keys, group*h.V)}
}

// Mask is added to the scores. It holds matrices (Queries, Keys): Batch is 1 if all sequences share them, Heads is 1 if
// all heads do. Without Data, Rule computes them.
type Mask[T kernel.Float] struct {
	Data         []T
	Batch, Heads int
	Rule         *Rule[T]
}

// row returns row i of the given number of keys, counted through all matrices. It is part of Data, or computed in
// scratch.
func (m Mask[T]) row(i, keys int, scratch *[]T) []T {
	if m.Rule == nil {
		return m.Data[i*keys:][:keys]
	}
	if len(*scratch) != keys {
		*scratch = make([]T, keys)
	}
	m.Rule.Row(i, 0, *scratch)
	return *scratch
}

// part writes the entries of row i from the given key on.
func (m Mask[T]) part(i, keys, from int, into []T) {
	if m.Rule == nil {
		copy(into, m.Data[i*keys+from:][:len(into)])
		return
	}
	known, ok := m.span(i, keys)
	if !ok {
		m.Rule.Row(i, from, into)
		return
	}
	hidden := T(math.Inf(-1))
	for j := range into {
		if into[j] = hidden; known.has(from + j) {
			into[j] = 0
		}
	}
}

// matrix returns matrix i, of the given number of queries.
func (m Mask[T]) matrix(i, queries int) matrix[T] { return matrix[T]{m, i * queries} }

// matrix is one of a mask's matrices.
type matrix[T kernel.Float] struct {
	Mask[T]
	first int // number of rows in the matrices before it
}

func (m matrix[T]) row(i, keys int, scratch *[]T) []T { return m.Mask.row(m.first+i, keys, scratch) }

func (m matrix[T]) part(i, keys, from int, into []T) { m.Mask.part(m.first+i, keys, from, into) }

// index returns the index of the matrix for head j of sequence b.
func (m Mask[T]) index(b, j int) int { return b%m.Batch*m.Heads + j%m.Heads }

func dot[T kernel.Float](x, y []T) (sum T) {
	y = y[:len(x)]
	for i, v := range x {
		sum += T(v * y[i])
	}
	return sum
}

// head is one lane of head j of sequence b.
type head[T kernel.Float] struct {
	Shape            // of the lane
	all        Shape // of all lanes
	products   gemm.Products[T]
	b, j       int
	lane       *lane
	q, k, v    gemm.Matrix[T]
	far        Projections[T] // of all lanes
	mask       matrix[T]      // of all lanes
	spans      *Spans
	seen       []int32 // number of keys that each query of all lanes sees
	copies     *scattered[T]
	top, total []T // m and ℓ of every query; with sigmoids, m is ln n
	scale      T
	drop       kernel.DropMask
	sinks      []T // of all heads; nil without
	decay      []T // c of every token of all lanes; nil without
}

// lanes returns the lanes of head i, where i counts the heads of all sequences.
func (f *Flash[T]) lanes(i int) []lane { return f.Spans.lanes[f.Mask.index(i/f.Heads, i%f.Heads)] }

// head returns a lane of head i, where i counts the heads of all sequences.
func (f *Flash[T]) head(i int, l *lane) head[T] {
	n := f.Queries
	s := head[T]{
		Shape: f.within(l), all: f.Shape, products: f.Products, b: i / f.Heads, j: i % f.Heads, lane: l, spans: f.Spans,
		scale: T(1 / math.Sqrt(float64(f.QK))), drop: f.Drop, sinks: f.Sinks,
	}
	s.far = f.In.head(f.Shape, s.b, s.j)
	own := laneOf(l, s.far)
	s.q, s.k, s.v = own.Q, own.K, own.V
	m := f.Mask.index(s.b, s.j)
	s.mask, s.seen = f.Mask.matrix(m, n), f.Spans.seen[m*n:(m+1)*n]
	if f.Decay != nil {
		s.decay = f.Decay[i*n : (i+1)*n]
	}
	at := i*n + l.at
	s.top, s.total = f.LSE[at:at+s.Queries], f.LSE[len(f.LSE)/2+at:][:s.Queries]
	return s
}

// of returns the lane's part of a matrix like y.
func (s *head[T]) of(y []T) gemm.Matrix[T] {
	return rowsOf(gemm.Mat(y, s.Heads*s.V).From(s.b*s.all.Queries, s.j*s.V), s.lane.q)
}

// dropAt returns the index of a query of the lane and a key in the mask of dropout.
func (s *head[T]) dropAt(query, key int) int {
	return ((s.b*s.Heads+s.j)*s.all.Queries+s.lane.q.at(query))*s.all.Keys + key
}
