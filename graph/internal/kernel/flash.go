package kernel

import (
	"math"
	"sync/atomic"
)

// A tile of the scores is at most so high and wide, and a task of the forward pass so many queries.
var (
	queries = 64
	keys    = 256
	taskQueries    = 256
)

// AttentionScratch is the number of floats that Attention and AttentionBackward want as scratch: two tiles a thread.
func AttentionScratch(pool *Pool, h Heads) int {
	return pool.Threads() * 2 * min(queries, h.Context) * min(keys, h.Context)
}

// FlashAttention computes y = concat over heads of softmax(q·kᵀ/√QK + mask)·v, y (Batch·Context, Heads·V), tile by tile: no
// weight outlives its tile. With m the largest score of a query so far and ℓ = Σ e^(score − m), a tile makes of them
//
//	m' = max(m, max of the tile)    ℓ' = ℓ·e^(m−m') + Σ e^(score−m')    o' = o·e^(m−m') + Σ e^(score−m')·v
//
// and the last one divides by ℓ. (Printed with the factor upside down, errata X1; while m = −∞ there is nothing to
// carry over, errata X1b.) The log-sum-exp m + log ℓ stays in lse (2, Batch, Heads, Context) as m and 1/ℓ, so that large
// scores lose nothing. Dropout acts on the weights.
func FlashAttention[T Float](pool *Pool, h Heads, seen *Spans, y, qkv, mask, lse, scratch []T, drop Dropping) {
	look(pool, seen, mask, h.Context)
	parts := (h.Context + taskQueries - 1) / taskQueries
	inTurns(pool, h.Batch*h.Heads*parts, scratch, func(task int, scratch []T) {
		s := headOf(h, seen, qkv, mask, lse, drop, task/parts)
		from := task % parts * taskQueries
		y := Mat(y, h.Heads*h.V).from(s.b*h.Context, s.j*h.V)
		for end := min(h.Context, from+taskQueries); from < end; from += queries {
			s.attend(y, from, min(end, from+queries), scratch)
		}
	})
}

// inTurns runs tasks on the pool's threads, each thread with its own share of the scratch.
func inTurns[T Float](pool *Pool, tasks int, scratch []T, body func(task int, scratch []T)) {
	var next atomic.Int64
	size := len(scratch) / pool.Threads()
	pool.For(min(tasks, pool.Threads()), func(thread int) {
		for task := int(next.Add(1)) - 1; task < tasks; task = int(next.Add(1)) - 1 {
			body(task, scratch[thread*size:(thread+1)*size])
		}
	})
}

// head is one head of one sequence.
type head[T Float] struct {
	Heads
	b, j     int // sequence, head
	q, k, v  Matrix[T]
	spans    []span
	mask     []T
	top, inv []T // m and 1/ℓ of every query
	scale    T
	drop     Dropping
	at       int // number of the first weight, for dropout
}

func headOf[T Float](h Heads, seen *Spans, qkv, mask, lse []T, drop Dropping, i int) head[T] {
	n := h.Context
	s := head[T]{Heads: h, b: i / h.Heads, j: i % h.Heads, scale: T(1 / math.Sqrt(float64(h.QK))), drop: drop, at: i * n * n}
	s.q, s.k, s.v = split(h, qkv, s.b, s.j)
	s.mask, s.spans = maskOf(h, mask, s.b), seen.rows
	if len(seen.rows) > n {
		s.spans = seen.rows[s.b*n : (s.b+1)*n]
	}
	s.top, s.inv = lse[i*n:(i+1)*n], lse[len(lse)/2+i*n:][:n]
	return s
}

// attend computes rows from … to of y.
func (s *head[T]) attend(y Matrix[T], from, to int, scratch []T) {
	var sum [64]float64 // ℓ
	top := s.top[from:to]
	for i := range top {
		top[i] = T(math.Inf(-1))
	}
	y = y.from(from, 0)
	first, last := around(s.spans[from:to])
	if first == last { // queries that see nothing
		clearRows(y, to-from, s.V)
		clear(s.inv[from:to])
	}
	step := width(last - first)
	for a := first; a < last; a += step {
		z := min(last, a+step)
		p := s.scores(from, to, a, z, scratch)
		for i := range top {
			row, open := s.row(p, from+i, from, a, z)
			most, total := expSum(open)
			m := max(top[i], most)
			keep, scale := 1., 1.
			switch {
			case m == T(math.Inf(-1)):
				keep, total = 0, 0
			default:
				keep = math.Exp(float64(top[i] - m))
				total *= math.Exp(float64(most - m))
			}
			sum[i] = sum[i]*keep + total
			if z == last {
				if scale = 0; sum[i] > 0 || sum[i] != sum[i] {
					scale = 1 / sum[i]
				}
				s.inv[from+i] = T(scale)
			}
			if m == T(math.Inf(-1)) {
				clear(open)
			} else {
				expTo(open, m, T(scale))
			}
			top[i] = m
			if factor := T(keep * scale); a > first && factor != 1 {
				scaleRow(y.Data[i*y.Stride:][:s.V], factor)
			}
			if s.drop.P > 0 {
				dropEntries(row, row, s.drop, s.at+(from+i)*s.Context+a)
			}
		}
		var beta T
		if a > first {
			beta = 1
		}
		GemmSerial(to-from, s.V, z-a, 1, p, s.v.from(a, 0), beta, y)
	}
}

// width splits n keys evenly into tiles.
func width(n int) int {
	tiles := max(1, (n+keys-1)/keys)
	return (n+tiles-1)/tiles
}

// scores computes a tile of q·kᵀ/√QK.
func (s *head[T]) scores(from, to, a, z int, scratch []T) Matrix[T] {
	p := Mat(scratch, z-a)
	GemmSerial(to-from, z-a, s.QK, s.scale, s.q.from(from, 0), s.k.from(a, 0).T(), 0, p)
	return p
}

// row is query i's row of a tile of scores that begins at query from, with the mask added to what is open of it and the
// rest cleared.
func (s *head[T]) row(p Matrix[T], i, from, a, z int) (row, open []T) {
	row = p.Data[(i-from)*p.Stride:][:z-a]
	span := s.spans[i]
	left, right := span.within(a, z)
	clear(row[:left])
	clear(row[right:])
	open = row[left:right]
	if !span.plain {
		for j, v := range s.mask[i*s.Context+a+left:][:len(open)] {
			if open[j] += v; math.IsInf(float64(v), -1) {
				open[j] = v // whatever the score is
			}
		}
	}
	return row, open
}

// expSum is the largest of some numbers and Σ e^(x − largest).
func expSum[T Float](x []T) (top T, sum float64) {
	if fast := vectorsOf[T](); fast != nil && len(x) > 0 {
		top, sum := fast.expSum(single(x))
		return T(top), sum
	}
	top = T(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	for _, v := range x {
		sum += float64(Exp(v - top))
	}
	return top, sum
}

// expTo makes x e^(x − top)·scale.
func expTo[T Float](x []T, top, scale T) {
	if fast := vectorsOf[T](); fast != nil {
		fast.exp(single(x), single(x), float32(top), float32(scale))
		return
	}
	for j, v := range x {
		x[j] = Exp(v-top) * scale
	}
}

func scaleRow[T Float](x []T, factor T) {
	for j := range x {
		x[j] *= factor
	}
}

func clearRows[T Float](m Matrix[T], rows, cols int) {
	for i := range rows {
		clear(m.Data[i*m.Stride:][:cols])
	}
}
