package kernel

// FlashAttentionBackward computes the gradient of the packed projections from dy, y and the log-sum-exp that Attention left,
// tile by tile, the weights p = e^(score − m)/ℓ once more: with D = Σ over the columns of dy∘y,
//
//	Δv += pᵀ·dy    Δs = p∘(dy·vᵀ − D)    Δq += Δs·k/√QK    Δk += Δsᵀ·q/√QK
//
// The tiles of a head come one after the other, so that the sums do not depend on the threads.
func FlashAttentionBackward[T Float](pool *Pool, h Heads, seen *Spans, dqkv, qkv, mask, y, dy, lse, scratch []T, drop Dropping) {
	inTurns(pool, h.Batch*h.Heads, scratch, func(task int, scratch []T) {
		s := headOf(h, seen, qkv, mask, lse, drop, task)
		var d grads[T]
		d.q, d.k, d.v = split(h, dqkv, s.b, s.j)
		clearRows(d.k, h.Context, h.QK)
		clearRows(d.v, h.Context, h.V)
		d.y, d.dy = Mat(y, h.Heads*h.V).from(s.b*h.Context, s.j*h.V), Mat(dy, h.Heads*h.V).from(s.b*h.Context, s.j*h.V)
		for from := 0; from < h.Context; from += queries {
			s.backward(&d, from, min(h.Context, from+queries), scratch)
		}
	})
}

// grads are the gradients of a head, its result and the result's gradient.
type grads[T Float] struct{ q, k, v, y, dy Matrix[T] }

// backward adds what queries from … to contribute.
func (s *head[T]) backward(d *grads[T], from, to int, scratch []T) {
	n := to - from
	dq, y, dy := d.q.from(from, 0), d.y.from(from, 0), d.dy.from(from, 0)
	var dots [64]T // D
	for i := range n {
		dots[i] = rowDot(y.Data[i*y.Stride:][:s.V], dy.Data[i*dy.Stride:][:s.V])
	}
	first, last := around(s.spans[from:to])
	if first == last {
		clearRows(dq, n, s.QK)
	}
	step := width(last - first)
	other := scratch[len(scratch)/2:]
	var beta T
	for a := first; a < last; a += step {
		z := min(last, a+step)
		p, ds := s.scores(from, to, a, z, scratch), Mat(other, z-a)
		for i := range n {
			_, open := s.row(p, from+i, from, a, z)
			expTo(open, s.top[from+i], s.inv[from+i])
		}
		used := p
		if s.drop.P > 0 {
			used = ds
			s.dropTile(ds, p, from, to, a, z)
		}
		GemmSerial(z-a, s.V, n, 1, used.T(), dy, 1, d.v.from(a, 0))
		GemmSerial(n, z-a, s.V, 1, dy, s.v.from(a, 0).T(), 0, ds)
		if s.drop.P > 0 {
			s.dropTile(ds, ds, from, to, a, z)
		}
		for i := range n {
			dot := dots[i]
			row := ds.Data[i*ds.Stride:][:z-a]
			for j, w := range p.Data[i*p.Stride:][:len(row)] {
				row[j] = w * (row[j] - dot)
			}
		}
		GemmSerial(n, s.QK, z-a, s.scale, ds, s.k.from(a, 0), beta, dq)
		GemmSerial(z-a, s.QK, n, s.scale, ds.T(), s.q.from(from, 0), 1, d.k.from(a, 0))
		beta = 1
	}
}

func (s *head[T]) dropTile(to, from Matrix[T], top, bottom, a, z int) {
	for i := range bottom - top {
		dropEntries(to.Data[i*to.Stride:][:z-a], from.Data[i*from.Stride:][:z-a], s.drop, s.at+(top+i)*s.Context+a)
	}
}

// rowDot has four partial sums.
func rowDot[T Float](x, y []T) T {
	var s [4]T
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		s[0] += x[0] * y[0]
		s[1] += x[1] * y[1]
		s[2] += x[2] * y[2]
		s[3] += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s[0] += v * y[i]
	}
	return s[0] + s[1] + (s[2] + s[3])
}
