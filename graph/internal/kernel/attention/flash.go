package attention

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// The largest tiles of the scores. In the forward pass a row has many keys, because a long row costs little more than a
// short one; in the backward pass a column has many queries, because it sums over them. Both fit the nearest caches.
const (
	forwardQueries, forwardKeys   = 64, 256
	backwardQueries, backwardKeys = 128, 32
)

// Flash is multi-headed attention tile by tile, so that at most one tile of the weights exists at a time. It holds the
// operands of both passes.
type Flash[T kernel.Float] struct {
	Shape
	Products gemm.Products[T]
	Spans    *Spans
	In       Projections[T]
	Mask     Mask[T]
	LSE      []T // (2, Batch, Heads, Queries): m and ℓ of every query's log-sum-exp m + log ℓ, m the largest score
	Scratch  []T // FlashScratch floats
	Drop     kernel.DropMask
	Sinks    []T // logits of the heads' sinks; nil without

	// Decay holds the running sums c (Batch, Heads, Queries) of attention that forgets, and DecayGrad their gradient.
	// They are nil without. Sinks and Decay exclude each other.
	Decay, DecayGrad []T
}

// FlashScratch returns the number of floats of scratch that both passes need, including a share for each thread.
func FlashScratch(pool *kernel.Pool, h Shape) int {
	threads := pool.Threads()
	forward := min(h.Queries, forwardQueries) * (1 + min(h.Keys, forwardKeys))
	tiles := 2 * min(h.Queries, backwardQueries) * min(h.Keys, backwardKeys)
	if h.inTurns(threads) {
		return max(threads*align(forward), h.projections()+threads*align(tiles))
	}
	return threads * align(max(forward, h.Queries+tiles))
}

// align rounds up to complete cache lines of 64 bytes.
func align(n int) int { return (n + 15) &^ 15 }

// Forward computes y = concat over heads of softmax(q·kᵀ/√QK + mask)·v, y (Batch·Queries, Heads·V), or with other
// Weights in place of the softmax, and stores LSE for the backward pass. LSE has two parts because their sum would lose
// small numbers next to large scores. A query that attends to no key gets 0. Dropout acts on the weights. The logit b
// of a sink adds e^b to the sum of the softmax.
func (f *Flash[T]) Forward(pool *kernel.Pool, y []T) {
	readMask(pool, f.Shape, f.Spans, f.Mask)
	blocks := f.Spans.most.forward
	task := perTask(f.Batch*f.Heads, blocks, pool.Threads())
	tasks := (blocks + task - 1) / task
	perHead(pool, f.Batch*f.Heads*tasks, f.Scratch, func(i int, scratch []T) {
		lanes, from := f.lanes(i/tasks), i%tasks*task
		to := from + task
		for l := range lanes {
			l := &lanes[l]
			if first, last := max(0, from), min(to, l.blocks); first < last {
				s := f.head(i/tasks, l)
				s.attendBlocks(s.of(y), first, last, scratch)
			}
			from, to = from-l.blocks, to-l.blocks
		}
	})
}

// perTask returns the number of a head's blocks in a task: four, or fewer if some threads would otherwise be idle.
func perTask(heads, blocks, threads int) int {
	n := 4
	for n > 1 && heads*((blocks+n-1)/n) < 2*threads {
		n /= 2
	}
	return n
}

// even returns the size of a part if n is split evenly into at least the given number of parts of at most the given
// size.
func even(n, most, parts int) int {
	parts = max(parts, (n+most-1)/most)
	return (n + parts - 1) / parts
}

// perHead runs tasks, several for each head or one for several heads, on the pool's threads. Each thread has its share
// of the scratch.
func perHead[T kernel.Float](pool *kernel.Pool, tasks int, scratch []T, body func(task int, scratch []T)) {
	share := len(scratch) / pool.Threads() &^ 15
	pool.Tasks(tasks, func(thread, task int) { body(task, scratch[thread*share:(thread+1)*share]) })
}

// attendBlocks computes blocks first … last−1 of y.
func (s *head[T]) attendBlocks(y gemm.Matrix[T], first, last int, scratch []T) {
	defer s.giveBack()
	rows := s.Rows()
	for block := first; block < last; block++ {
		s.attend(y, block*rows, min(s.Queries, (block+1)*rows), scratch)
	}
}

// attend computes rows from … to−1 of y.
func (s *head[T]) attend(y gemm.Matrix[T], from, to int, scratch []T) {
	y = y.From(from, 0)
	n := to - from
	s.start(from, to)
	keep, tile := scratch[:n], scratch[n:]
	visible := around(s.lane.queries[from:to])
	if visible.from == visible.to {
		clearRows(y, n, s.V)
	}
	step := even(visible.to-visible.from, forwardKeys, 1)
	var beta T
	for a := visible.from; a < visible.to; a += step {
		z := min(visible.to, a+step)
		p, mask := s.scores(from, to, a, z, tile, nil)
		rescale := s.weigh(p.Data, mask.Data, from, keep, p.Stride, mask.Stride)
		if rescale && beta != 0 {
			kernel.ScaleRows(y.Data, keep, s.V, y.Stride)
		}
		s.dropTile(p, from, a)
		s.products.MulSerial(n, s.V, z-a, 1, p, s.v.From(a, 0), beta, y)
		beta = 1
	}
	s.attendRest(y, from, to)
}
