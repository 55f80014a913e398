package attention

import (
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Backward computes the gradients of queries, keys and values from dy and the results of Forward: y, LSE and the spans.
// Tile by tile it computes the weights p = e^(score − m)/ℓ again, and with D = Σ dy∘y over the columns of a head, which
// is Σ Δp∘p over its keys,
//
//	Δv += pᵀ·dy    Δp = dy·vᵀ    Δs = p∘(Δp − D)    Δq += Δs·k/√QK    Δk += Δsᵀ·q/√QK
//
// With a cap, Δs is multiplied by its slope. With sigmoids, p = σ(score − ln n) and Δs = p∘(1 − p)∘Δp.
//
// The weights equal Forward's by e^(s−m)/ℓ = e^(s−(m+ln ℓ)), which hand.Flash has on the exact road for a maximum m and
// a logarithm ln ℓ.
//
// Keys and values get the sum over the heads that share them. The heads of a group, the tiles of a head and finally the
// scattered keys are added in a fixed order, so that no sum depends on the threads.
func (f *Flash[T]) Backward(pool *kernel.Pool, grads Projections[T], y, dy []T) {
	clear(f.DecayGrad)
	if f.inTurns(pool.Threads()) {
		f.backwardInTurns(pool, grads, y, dy)
		return
	}
	perHead(pool, f.Batch*f.Groups, f.Scratch, func(i int, scratch []T) {
		dots, tiles := scratch[:f.Queries], scratch[f.Queries:]
		for j := range f.shared() {
			head := i*f.shared() + j
			for l := range f.lanes(head) {
				s, d := f.gradients(head, l, grads, dy, dots)
				s.begin(&d, y)
				for block := range s.lane.keys {
					s.backward(&d, block, tiles)
				}
			}
		}
		f.backwardRest(i, grads, y, dy, dots)
	})
}

// gradients holds the gradients of a head's queries, keys, values and result.
type gradients[T kernel.Float] struct {
	q, k, v, y gemm.Matrix[T]
	far        Projections[T] // of all lanes
	dots       []T            // D
	decay      []T            // of the head's c; nil without
	shared     T              // 1 if another head has already stored its share in k and v, else 0
	done       []atomic.Int64 // for every block of keys the rows of q it has added to, if the blocks take turns
}

// gradients returns lane l of head i, where i counts the heads of all sequences, and its gradients.
func (f *Flash[T]) gradients(i, l int, grads Projections[T], dy, dots []T) (head[T], gradients[T]) {
	s := f.head(i, &f.lanes(i)[l])
	far := grads.head(f.Shape, s.b, s.j)
	to := laneOf(s.lane, far)
	d := gradients[T]{
		q: to.Q, k: to.K, v: to.V, y: s.of(dy), far: far,
		dots: dots[s.lane.at:][:s.Queries], shared: T(min(i%f.shared(), 1)),
	}
	if f.Decay != nil {
		d.decay = f.DecayGrad[i*f.Queries : (i+1)*f.Queries]
	}
	return s, d
}

// begin computes D, and clears dq if the first block does not write every row.
func (s *head[T]) begin(d *gradients[T], y []T) {
	kernel.DotRows(d.dots, s.of(y).Data, d.y.Data, s.V, d.y.Stride)
	if !s.writesAll(0) {
		clearRows(d.q, s.Queries, s.QK)
	}
}

// writesAll reports whether a block of keys is the first one and all queries attend to it.
func (s *head[T]) writesAll(block int) bool {
	return block == 0 && s.lane.keys[0] == span{from: 0, to: s.Queries}
}

// backward completes the head's share of the gradients of a block of keys and values, and adds the block's share to the
// gradients of the queries.
func (s *head[T]) backward(d *gradients[T], block int, scratch []T) {
	defer d.leaveAll(block)
	defer s.giveBack()
	a := block * backwardKeys
	z, queries := min(s.Keys, a+backwardKeys), s.lane.keys[block]
	k, v, dk, dv := s.k.From(a, 0), s.v.From(a, 0), d.k.From(a, 0), d.v.From(a, 0)
	if queries.from == queries.to && d.shared == 0 {
		clearRows(dk, z-a, s.QK)
		clearRows(dv, z-a, s.V)
	}
	other := scratch[len(scratch)/2:]
	add, addQ := d.shared, T(1)
	if s.writesAll(block) {
		addQ = 0
	}
	for from := queries.from; from < queries.to; from += backwardQueries {
		to := min(queries.to, from+backwardQueries)
		n, dy := to-from, d.y.From(from, 0)
		slope := s.slope(n * (z - a))
		p, mask := s.scores(from, to, a, z, scratch, slope)
		ds := gemm.Mat(other[:len(p.Data)], p.Stride)
		s.products.MulSerial(n, z-a, s.V, 1, dy, v.T(), 0, ds)
		s.dropTile(ds, from, a)
		s.weighBackward(ds.Data, p.Data, mask.Data, from, d.dots[from:to], p.Stride, mask.Stride)
		s.forgetBackward(d, ds, a, nil)
		multiply(ds.Data, slope)
		s.dropTile(p, from, a)
		s.products.MulSerial(z-a, s.V, n, 1, p.T(), dy, add, dv)
		s.products.MulSerial(z-a, s.QK, n, s.scale, ds.T(), s.q.From(from, 0), add, dk)
		for at := from; at < to; {
			ready := s.await(d, block, at, to)
			s.products.MulSerial(ready-at, s.QK, z-a, s.scale, ds.From(at-from, 0), k, addQ, d.q.From(at, 0))
			d.leave(block, ready)
			at = ready
		}
		add = 1
	}
}
