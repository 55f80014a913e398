package kernel

import (
	"math"
	"sync/atomic"
)

// The largest tiles of the scores. That of the forward pass is wide: a row of it costs little more than a short one. That
// of the backward pass is high: it adds up over queries. Both fit the nearest caches.
const (
	wideQueries, wideKeys = 64, 256
	tileQueries, tileKeys = 128, 32
)

// AttentionScratch is the number of floats that Attention and AttentionBackward want as scratch, a share for each thread.
func AttentionScratch(pool *Pool, h Heads) int {
	forward := min(h.Queries, wideQueries) * (1 + min(h.Keys, wideKeys))
	backward := h.Queries + 2*min(h.Queries, tileQueries)*min(h.Keys, tileKeys)
	return pool.Threads() * ((max(forward, backward) + 15) &^ 15)
}

// Attention computes y = concat over heads of softmax(q·kᵀ/√QK + mask)·v, y (Batch·Queries, Heads·V), tile by tile, so
// that no more than a tile of the weights exists at a time. Of the log-sum-exp m + log ℓ of every query it leaves both
// parts in lse (2, Batch, Heads, Queries) for the backward pass, m the largest score: their sum would lose what is small
// beside large scores. A query that sees no key gets 0. Dropout acts on the weights.
func Attention[T Float](pool *Pool, h Heads, spans *Spans, y []T, from Projections[T], mask Mask[T], lse, scratch []T, drop Dropping) {
	look(pool, h, spans, mask)
	rows := even(h.Queries, wideQueries, 2) // two, so that a causal mask hides half of the first
	task := 4 * rows
	tasks := (h.Queries + task - 1) / task
	inTurns(pool, h.Batch*h.Heads*tasks, scratch, func(i int, scratch []T) {
		s := headOf(h, spans, from, mask, lse, drop, i/tasks)
		y, first := s.of(y), i%tasks*task
		for end := min(h.Queries, first+task); first < end; first += rows {
			s.attend(y, first, min(end, first+rows), scratch)
		}
	})
}

// even is the size of a part when n is split evenly into parts of at most so many, and into so many parts at least.
func even(n, most, parts int) int {
	parts = max(parts, (n+most-1)/most)
	return (n + parts - 1) / parts
}

// inTurns runs tasks on the pool's threads, each thread with its share of the scratch.
func inTurns[T Float](pool *Pool, tasks int, scratch []T, body func(task int, scratch []T)) {
	var next atomic.Int64
	share := len(scratch) / pool.Threads()
	pool.For(min(tasks, pool.Threads()), func(thread int) {
		for task := int(next.Add(1)) - 1; task < tasks; task = int(next.Add(1)) - 1 {
			body(task, scratch[thread*share:(thread+1)*share])
		}
	})
}

// head is head j of sequence b.
type head[T Float] struct {
	Heads
	b, j          int
	q, k, v       Matrix[T]
	mask          []T // (Queries, Keys)
	queries, keys []span
	top, total    []T // m and ℓ of every query
	scale         T
	drop          Dropping
}

func headOf[T Float](h Heads, spans *Spans, from Projections[T], mask Mask[T], lse []T, drop Dropping, i int) head[T] {
	n, blocks := h.Queries, h.blocks()
	s := head[T]{Heads: h, b: i / h.Heads, j: i % h.Heads, scale: T(1 / math.Sqrt(float64(h.QK))), drop: drop}
	p := from.head(h, s.b, s.j)
	s.q, s.k, s.v = p.Q, p.K, p.V
	m := mask.index(s.b, s.j)
	s.mask = mask.Data[m*n*h.Keys : (m+1)*n*h.Keys]
	s.queries, s.keys = spans.queries[m*n:(m+1)*n], spans.keys[m*blocks:(m+1)*blocks]
	s.top, s.total = lse[i*n:(i+1)*n], lse[len(lse)/2+i*n:][:n]
	return s
}

// of is the head's part of a matrix like y.
func (s *head[T]) of(y []T) Matrix[T] {
	return Mat(y, s.Heads.Heads*s.V).from(s.b*s.Queries, s.j*s.V)
}

// attend computes rows from … to of y.
func (s *head[T]) attend(y Matrix[T], from, to int, scratch []T) {
	y = y.from(from, 0)
	n, top, total := to-from, s.top[from:to], s.total[from:to]
	for i := range top {
		top[i], total[i] = lowest[T](), 0
	}
	keep, tile := scratch[:n], scratch[n:]
	seen := around(s.queries[from:to])
	if seen.from == seen.to {
		clearRows(y, n, s.V)
	}
	step := even(seen.to-seen.from, wideKeys, 1)
	var beta T
	for a := seen.from; a < seen.to; a += step {
		z := min(seen.to, a+step)
		p, mask := s.scores(from, to, a, z, tile)
		softmaxTile(p.Data, mask, top, total, keep, p.Stride, s.Keys)
		if beta != 0 {
			scaleRows(y.Data, keep, s.V, y.Stride)
		}
		s.dropTile(p, from, a)
		GemmSerial(n, s.V, z-a, 1, p, s.v.from(a, 0), beta, y)
		beta = 1
	}
}

// scores computes q·kᵀ/√QK for queries from … to and keys a … z into the tile, and returns what of the mask is to be
// added: nil if that would change nothing.
func (s *head[T]) scores(from, to, a, z int, tile []T) (x Matrix[T], mask []T) {
	x = Mat(tile[:(to-from)*(z-a)], z-a)
	GemmSerial(to-from, z-a, s.QK, s.scale, s.q.from(from, 0), s.k.from(a, 0).T(), 0, x)
	for _, q := range s.queries[from:to] {
		if q.from > a || q.to < z || !q.plain {
			return x, s.mask[from*s.Keys+a : (to-1)*s.Keys+z]
		}
	}
	return x, nil
}

// dropTile applies dropout to a tile that begins with query from and key a.
func (s *head[T]) dropTile(x Matrix[T], from, a int) {
	if s.drop.P == 0 {
		return
	}
	at := ((s.b*s.Heads.Heads+s.j)*s.Queries+from)*s.Keys + a
	for row := x.Data; len(row) > 0; row = row[x.Stride:] {
		dropEntries(row[:x.Stride], row[:x.Stride], s.drop, at)
		at += s.Keys
	}
}

func clearRows[T Float](m Matrix[T], rows, cols int) {
	for i := range rows {
		clear(m.Data[i*m.Stride:][:cols])
	}
}
