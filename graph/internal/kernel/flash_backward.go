package kernel

// AttentionBackward computes the gradients of queries, keys and values from dy and from what Attention made: y, the
// log-sum-exp and the spans. Tile by tile it computes the weights p = e^(score − m)/ℓ once more, and with D = Σ dy∘y over
// the columns of a head, which is Σ Δp∘p over its keys,
//
//	Δv += pᵀ·dy    Δp = dy·vᵀ    Δs = p∘(Δp − D)    Δq += Δs·k/√QK    Δk += Δsᵀ·q/√QK
//
// The tiles of a head come one after the other, so that no sum depends on the threads.
func AttentionBackward[T Float](pool *Pool, h Heads, spans *Spans, to, from Projections[T], mask Mask[T], y, dy, lse, scratch []T, drop Dropping) {
	inTurns(pool, h.Batch*h.Heads, scratch, func(i int, scratch []T) {
		s := headOf(h, spans, from, mask, lse, drop, i)
		to := to.head(h, s.b, s.j)
		d := gradients[T]{q: to.Q, k: to.K, v: to.V, y: s.of(dy), dots: scratch[:h.Queries]}
		dotRows(d.dots, s.of(y).Data, d.y.Data, h.V, d.y.Stride)
		if all := (span{from: 0, to: h.Queries}); s.keys[0] != all { // else the first block writes every row
			clearRows(d.q, h.Queries, h.QK)
			d.add = 1
		}
		for block := range s.keys {
			s.backward(&d, block, scratch[h.Queries:])
		}
	})
}

// gradients are those of a head's queries, keys, values and result.
type gradients[T Float] struct {
	q, k, v, y Matrix[T]
	dots       []T // D
	add        T   // 1 once there is something in q, 0 before
}

// backward finishes the gradients of a block of keys and values, and adds what it contributes to those of the queries.
func (s *head[T]) backward(d *gradients[T], block int, scratch []T) {
	a := block * tileKeys
	z, seers := min(s.Keys, a+tileKeys), s.keys[block]
	k, v, dk, dv := s.k.from(a, 0), s.v.from(a, 0), d.k.from(a, 0), d.v.from(a, 0)
	if seers.from == seers.to {
		clearRows(dk, z-a, s.QK)
		clearRows(dv, z-a, s.V)
	}
	other := scratch[len(scratch)/2:]
	var add T
	for from := seers.from; from < seers.to; from += tileQueries {
		to := min(seers.to, from+tileQueries)
		n, dy := to-from, d.y.from(from, 0)
		p, mask := s.scores(from, to, a, z, scratch)
		ds := Mat(other[:len(p.Data)], p.Stride)
		GemmSerial(n, z-a, s.V, 1, dy, v.T(), 0, ds)
		s.dropTile(ds, from, a)
		softmaxTileBackward(ds.Data, p.Data, mask, s.top[from:to], s.total[from:to], d.dots[from:to], p.Stride, s.Keys)
		s.dropTile(p, from, a)
		GemmSerial(z-a, s.V, n, 1, p.T(), dy, add, dv)
		GemmSerial(z-a, s.QK, n, s.scale, ds.T(), s.q.from(from, 0), add, dk)
		GemmSerial(n, s.QK, z-a, s.scale, ds, k, d.add, d.q.from(from, 0))
		add = 1
	}
	d.add = 1
}
