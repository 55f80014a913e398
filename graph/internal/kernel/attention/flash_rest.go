package attention

import (
	"math"
	"math/bits"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// scattered holds copies of keys and values, their gradients, and tiles of scores and of the mask, for one thread.
type scattered[T kernel.Float] struct {
	k, v, dk, dv, scores, ds, mask, keep, tile, slope []T
	sums                                              sums[T]
}

func newScattered[T kernel.Float](h Shape) *scattered[T] {
	const tile = restRows * restKeys
	return &scattered[T]{
		make([]T, restKeys*h.QK), make([]T, restKeys*h.V), make([]T, restKeys*h.QK), make([]T, restKeys*h.V),
		make([]T, tile), make([]T, tile), make([]T, tile), make([]T, restRows),
		make([]T, max(forwardQueries*forwardKeys, backwardQueries*backwardKeys)), nil, newSums[T](),
	}
}

// borrow returns the buffers for scattered keys and lanes. giveBack returns them to the pool.
func (s *head[T]) borrow() *scattered[T] {
	if s.copies == nil {
		s.copies, _ = s.spans.buffers.Get().(*scattered[T])
		if x := s.copies; x == nil || len(x.k) != restKeys*s.QK || len(x.v) != restKeys*s.V {
			s.copies = newScattered[T](s.Shape)
		}
	}
	return s.copies
}

func (s *head[T]) giveBack() {
	if s.copies != nil {
		s.spans.buffers.Put(s.copies)
		s.copies = nil
	}
}

// eachRest calls body for the scattered keys of queries from … to, which are one block or all. It passes them in order,
// at most restKeys at a time.
func (s *head[T]) eachRest(lists [][]seen, from, to int, body func(first, n int, keys []seen, x *scattered[T])) {
	if !s.lane.scattered {
		return
	}
	rows := s.Rows()
	parts := (rows + restRows - 1) / restRows
	for ; from < to; from += rows {
		for part := range parts {
			first := from + part*restRows
			n := min(restRows, min(to, from+rows)-first)
			for keys := lists[from/rows*parts+part]; len(keys) > 0; {
				some := keys[:min(len(keys), restKeys)]
				body(first, n, some, s.borrow())
				keys = keys[len(some):]
			}
		}
	}
}

// gather copies the keys and values, and computes the scores of n queries from number first, and the slope of the cap.
func (s *head[T]) gather(first, n int, keys []seen, x *scattered[T], slope []T) (scores gemm.Matrix[T]) {
	for i, key := range keys {
		copy(x.k[i*s.QK:(i+1)*s.QK], s.far.K.Data[int(key.key)*s.far.K.Stride:])
		copy(x.v[i*s.V:(i+1)*s.V], s.far.V.Data[int(key.key)*s.far.V.Stride:])
	}
	scores = gemm.Mat(x.scores[:n*len(keys)], len(keys))
	s.products.MulSerial(n, len(keys), s.QK, s.scale, s.q.From(first, 0), gemm.Mat(x.k, s.QK).T(), 0, scores)
	s.capScores(scores.Data, slope)
	s.forget(scores, first, 0, keys)
	mask, hidden, biased := x.mask[:n*len(keys)], T(math.Inf(-1)), s.spans.biased
	for i := range mask {
		mask[i] = hidden
	}
	for j, key := range keys {
		for left := key.queries; left > 0; left &= left - 1 {
			i := bits.TrailingZeros16(left)
			at := mask[i*len(keys)+j:][:1]
			if at[0] = 0; biased { // otherwise it is 0, and reading it from distant memory would be wasted
				s.mask.part(s.lane.q.at(first+i), s.all.Keys, int(key.key), at)
			}
		}
	}
	return scores
}

// attendRest adds the contribution of the scattered keys to rows from … to of y, which are one block.
func (s *head[T]) attendRest(y gemm.Matrix[T], from, to int) {
	s.eachRest(s.lane.forward, from, to, func(first, n int, keys []seen, x *scattered[T]) {
		p, y := s.gather(first, n, keys, x, nil), y.From(first-from, 0)
		if keep := x.keep[:n]; s.weigh(p.Data, x.mask, first, keep, len(keys), len(keys)) {
			kernel.ScaleRows(y.Data, keep, s.V, y.Stride)
		}
		s.dropRest(p, first, keys)
		s.products.MulSerial(n, s.V, len(keys), 1, p, gemm.Mat(x.v, s.V), 1, y)
	})
}

// backwardRest adds the share of a group's scattered keys to the gradients. All rows of these must be written before.
func (f *Flash[T]) backwardRest(group int, grads Projections[T], y, dy, dots []T) {
	if !f.Spans.scattered {
		return
	}
	for head := group * f.shared(); head < (group+1)*f.shared(); head++ {
		for l := range f.lanes(head) {
			s, d := f.gradients(head, l, grads, dy, dots)
			kernel.DotRows(d.dots, s.of(y).Data, d.y.Data, f.V, d.y.Stride) // dots may hold another head's
			s.backwardRest(&d)
			s.giveBack()
		}
	}
}

func (s *head[T]) backwardRest(d *gradients[T]) {
	s.eachRest(s.lane.backward, 0, s.Queries, func(first, n int, keys []seen, x *scattered[T]) {
		m, slope, dy := len(keys), s.slope(n*len(keys)), d.y.From(first, 0)
		p := s.gather(first, n, keys, x, slope)
		ds := gemm.Mat(x.ds[:n*m], m)
		s.products.MulSerial(n, m, s.V, 1, dy, gemm.Mat(x.v, s.V).T(), 0, ds)
		s.dropRest(ds, first, keys)
		s.weighBackward(ds.Data, p.Data, x.mask, first, d.dots[first:first+n], m, m)
		s.forgetBackward(d, ds, 0, keys)
		multiply(ds.Data, slope)
		s.dropRest(p, first, keys)
		s.products.MulSerial(m, s.V, n, 1, p.T(), dy, 0, gemm.Mat(x.dv, s.V))
		s.products.MulSerial(m, s.QK, n, s.scale, ds.T(), s.q.From(first, 0), 0, gemm.Mat(x.dk, s.QK))
		s.products.MulSerial(n, s.QK, m, s.scale, ds, gemm.Mat(x.k, s.QK), 1, d.q.From(first, 0))
		for i, key := range keys {
			kernel.Accumulate(d.far.K.Data[int(key.key)*d.far.K.Stride:][:s.QK], x.dk[i*s.QK:])
			kernel.Accumulate(d.far.V.Data[int(key.key)*d.far.V.Stride:][:s.V], x.dv[i*s.V:])
		}
	})
}

// dropRest applies dropout to the scores of the given keys and the queries from number first.
func (s *head[T]) dropRest(x gemm.Matrix[T], first int, keys []seen) {
	if s.drop.P == 0 {
		return
	}
	for i := range x.Data {
		at := s.dropAt(first+i/len(keys), int(keys[i%len(keys)].key))
		kernel.DropEntries(x.Data[i:i+1], x.Data[i:i+1], s.drop, at)
	}
}
