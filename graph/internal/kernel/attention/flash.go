package attention

import (
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// The largest tiles of the scores. In the forward pass a row has many keys, because it costs little more than a short one;
// in the backward pass a column has many queries, because it adds up over them. Both fit the nearest caches.
const (
	forwardQueries, forwardKeys   = 64, 256
	backwardQueries, backwardKeys = 128, 32
)

// Flash is multi-headed attention tile by tile, so that no more than a tile of the weights exists at a time, and the
// operands of its two passes.
type Flash[T kernel.Float] struct {
	Shape
	Products gemm.Products[T]
	Spans    *Spans
	In       Projections[T]
	Mask     Mask[T]
	LSE      []T // (2, Batch, Heads, Queries): of every query's log-sum-exp m + log ℓ both parts, m the largest score
	Scratch  []T // FlashScratch floats
	Drop     kernel.DropMask
}

// FlashScratch is the number of floats that both passes take as scratch, a share for each thread.
func FlashScratch(pool *kernel.Pool, h Shape) int {
	threads := pool.Threads()
	forward := min(h.Queries, forwardQueries) * (1 + min(h.Keys, forwardKeys))
	tiles := 2 * min(h.Queries, backwardQueries) * min(h.Keys, backwardKeys)
	if h.inTurns(threads) {
		return max(threads*align(forward), h.projections()+threads*align(tiles))
	}
	return threads * align(max(forward, h.Queries+tiles))
}

// align rounds up to whole lines of 64 bytes.
func align(n int) int { return (n + 15) &^ 15 }

// Forward computes y = concat over heads of softmax(q·kᵀ/√QK + mask)·v, y (Batch·Queries, Heads·V), and leaves LSE for the
// backward pass, in two parts because their sum would lose what is small beside large scores. A query that attends to no
// key gets 0. Dropout acts on the weights.
func (f *Flash[T]) Forward(pool *kernel.Pool, y []T) {
	readMask(pool, f.Shape, f.Spans, f.Mask)
	rows := f.rows()
	task := rows * perTask(f.Batch*f.Heads, (f.Queries+rows-1)/rows, pool.Threads())
	tasks := (f.Queries + task - 1) / task
	perHead(pool, f.Batch*f.Heads*tasks, f.Scratch, func(i int, scratch []T) {
		s := f.head(i / tasks)
		y, first := s.of(y), i%tasks*task
		for end := min(f.Queries, first+task); first < end; first += rows {
			s.attend(y, first, min(end, first+rows), scratch)
		}
	})
}

// perTask is how many of a head's blocks are a task: four, but fewer where some threads would have none.
func perTask(heads, blocks, threads int) int {
	n := 4
	for n > 1 && heads*((blocks+n-1)/n) < 2*threads {
		n /= 2
	}
	return n
}

// even is the size of a part when n is split evenly into at least the given number of parts, none larger than most.
func even(n, most, parts int) int {
	parts = max(parts, (n+most-1)/most)
	return (n + parts - 1) / parts
}

// perHead runs the tasks of heads, several for each or one for several, on the pool's threads, each thread with its share
// of the scratch.
func perHead[T kernel.Float](pool *kernel.Pool, tasks int, scratch []T, body func(task int, scratch []T)) {
	var next atomic.Int64
	share := len(scratch) / pool.Threads() &^ 15
	pool.For(min(tasks, pool.Threads()), func(thread int) {
		for task := int(next.Add(1)) - 1; task < tasks; task = int(next.Add(1)) - 1 {
			body(task, scratch[thread*share:(thread+1)*share])
		}
	})
}

// attend computes rows from … to of y.
func (s *head[T]) attend(y gemm.Matrix[T], from, to int, scratch []T) {
	y = y.From(from, 0)
	n, top, total := to-from, s.top[from:to], s.total[from:to]
	for i := range top {
		top[i], total[i] = lowest[T](), 0
	}
	keep, tile := scratch[:n], scratch[n:]
	visible := around(s.queries[from:to])
	if visible.from == visible.to {
		clearRows(y, n, s.V)
	}
	step := even(visible.to-visible.from, forwardKeys, 1)
	var beta T
	for a := visible.from; a < visible.to; a += step {
		z := min(visible.to, a+step)
		p, mask := s.scores(from, to, a, z, tile)
		softmaxTile(p.Data, mask, top, total, keep, p.Stride, s.Keys)
		if beta != 0 {
			scaleRows(y.Data, keep, s.V, y.Stride)
		}
		s.dropTile(p, from, a)
		s.products.MulSerial(n, s.V, z-a, 1, p, s.v.From(a, 0), beta, y)
		beta = 1
	}
	s.attendRest(y, from, to)
}

// scores computes q·kᵀ/√QK for queries from … to and keys a … z into the tile, and returns what of the mask is to be
// added: nil if that would change nothing.
func (s *head[T]) scores(from, to, a, z int, tile []T) (x gemm.Matrix[T], mask []T) {
	x = gemm.Mat(tile[:(to-from)*(z-a)], z-a)
	s.products.MulSerial(to-from, z-a, s.QK, s.scale, s.q.From(from, 0), s.k.From(a, 0).T(), 0, x)
	for _, q := range s.queries[from:to] {
		if q.from > a || q.to < z || !q.plain {
			return x, s.mask[from*s.Keys+a : (to-1)*s.Keys+z]
		}
	}
	return x, nil
}

// dropTile applies dropout to a tile that begins with query from and key a.
func (s *head[T]) dropTile(x gemm.Matrix[T], from, a int) {
	if s.drop.P == 0 {
		return
	}
	at := ((s.b*s.Heads+s.j)*s.Queries+from)*s.Keys + a
	for row := x.Data; len(row) > 0; row = row[x.Stride:] {
		kernel.DropEntries(row[:x.Stride], row[:x.Stride], s.drop, at)
		at += s.Keys
	}
}

func clearRows[T kernel.Float](m gemm.Matrix[T], rows, cols int) {
	for i := range rows {
		clear(m.Data[i*m.Stride:][:cols])
	}
}
