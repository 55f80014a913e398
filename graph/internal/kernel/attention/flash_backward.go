package attention

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Backward computes the gradients of queries, keys and values from dy and from what Forward made: y, LSE and the spans.
// Tile by tile it computes the weights p = e^(score − m)/ℓ once more, and with D = Σ dy∘y over the columns of a head, which
// is Σ Δp∘p over its keys,
//
//	Δv += pᵀ·dy    Δp = dy·vᵀ    Δs = p∘(Δp − D)    Δq += Δs·k/√QK    Δk += Δsᵀ·q/√QK
//
// Keys and values get the sum over the heads that share them. The heads of a group, and the tiles of a head, come one after
// the other, so that no sum depends on the threads.
func (f *Flash[T]) Backward(pool *kernel.Pool, grads Projections[T], y, dy []T) {
	perHead(pool, f.Batch*f.Groups, f.Scratch, func(i int, scratch []T) {
		for j := range f.shared() {
			s := f.head(i*f.shared() + j)
			to := grads.head(f.Shape, s.b, s.j)
			d := gradients[T]{q: to.Q, k: to.K, v: to.V, y: s.of(dy), dots: scratch[:f.Queries], shared: T(min(j, 1))}
			dotRows(d.dots, s.of(y).Data, d.y.Data, f.V, d.y.Stride)
			if all := (span{from: 0, to: f.Queries}); s.keys[0] != all { // else the first block writes every row
				clearRows(d.q, f.Queries, f.QK)
				d.add = 1
			}
			for block := range s.keys {
				s.backward(&d, block, scratch[f.Queries:])
			}
			s.backwardRest(&d)
		}
	})
}

// gradients are those of a head's queries, keys, values and result.
type gradients[T kernel.Float] struct {
	q, k, v, y gemm.Matrix[T]
	dots       []T // D
	add        T   // 1 once there is something in q, 0 before
	shared     T   // 1 where another head has left its share in k and v, else 0
}

// backward finishes the head's share of the gradients of a block of keys and values, and adds what it contributes to those
// of the queries.
func (s *head[T]) backward(d *gradients[T], block int, scratch []T) {
	a := block * backwardKeys
	z, queries := min(s.Keys, a+backwardKeys), s.keys[block]
	k, v, dk, dv := s.k.From(a, 0), s.v.From(a, 0), d.k.From(a, 0), d.v.From(a, 0)
	if queries.from == queries.to && d.shared == 0 {
		clearRows(dk, z-a, s.QK)
		clearRows(dv, z-a, s.V)
	}
	other := scratch[len(scratch)/2:]
	add := d.shared
	for from := queries.from; from < queries.to; from += backwardQueries {
		to := min(queries.to, from+backwardQueries)
		n, dy := to-from, d.y.From(from, 0)
		p, mask := s.scores(from, to, a, z, scratch)
		ds := gemm.Mat(other[:len(p.Data)], p.Stride)
		s.products.MulSerial(n, z-a, s.V, 1, dy, v.T(), 0, ds)
		s.dropTile(ds, from, a)
		softmaxTileBackward(ds.Data, p.Data, mask, s.top[from:to], s.total[from:to], d.dots[from:to], p.Stride, s.Keys)
		s.dropTile(p, from, a)
		s.products.MulSerial(z-a, s.V, n, 1, p.T(), dy, add, dv)
		s.products.MulSerial(z-a, s.QK, n, s.scale, ds.T(), s.q.From(from, 0), add, dk)
		s.products.MulSerial(n, s.QK, z-a, s.scale, ds, k, d.add, d.q.From(from, 0))
		add = 1
	}
	d.add = 1
}
