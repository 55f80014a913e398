package attention

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// inTurns reports whether the backward pass uses blocks of keys as tasks. It does if groups of heads as tasks would
// leave more than a tenth of the threads' time unused, and a head has enough blocks.
func (h Shape) inTurns(threads int) bool {
	groups := h.Batch * h.Groups
	turns := (groups + threads - 1) / threads
	return 10*groups < 9*turns*threads && h.blocks() >= 8
}

// projections returns the number of floats of scratch that D takes for all heads.
func (h Shape) projections() int { return align(h.Batch * h.Heads * h.Queries) }

// backwardInTurns is Backward with a task for every block of keys of a group, and gives the same bits: a tile adds its
// share to the gradient of the queries after all earlier blocks of its head have added theirs. Only a fifth of a tile's
// time must wait for its turn. Waiting is rare, because the tasks begin with the first blocks of all groups.
func (f *Flash[T]) backwardInTurns(pool *kernel.Pool, grads Projections[T], y, dy []T) {
	heads, groups, blocks := f.Batch*f.Heads, f.Batch*f.Groups, f.Spans.most.backward
	dots, scratch := f.Scratch, f.Scratch[f.projections():]
	done := make([]atomic.Int64, heads*blocks)
	perHead(pool, heads, scratch, func(i int, _ []T) {
		for l := range f.lanes(i) {
			s, d := f.gradients(i, l, grads, dy, dots[i*f.Queries:])
			s.begin(&d, y)
		}
	})
	var begun atomic.Int64 // tasks begin in order, independent of the chunk that a thread has claimed
	perHead(pool, groups*blocks, scratch, func(_ int, scratch []T) {
		i := int(begun.Add(1)) - 1
		for j := range f.shared() {
			head, block := i%groups*f.shared()+j, i/groups
			for l, lane := range f.lanes(head) {
				if n := len(lane.keys); block >= n {
					block -= n
					continue
				}
				s, d := f.gradients(head, l, grads, dy, dots[head*f.Queries:])
				d.done = done[head*blocks+i/groups-block:]
				s.backward(&d, block, scratch)
				break
			}
		}
	})
	perHead(pool, groups, scratch, func(i int, _ []T) {
		f.backwardRest(i, grads, y, dy, dots[i*f.shared()*f.Queries:])
	})
}

// await waits until a block of keys may add to row from of dq, and returns the row, at most to, before which it may
// add: every earlier block is done with these rows. Tasks begin in the order of their blocks, so the first unfinished
// one never waits.
func (s *head[T]) await(d *gradients[T], block, from, to int) int {
	if d.done == nil {
		return to
	}
	for spins := 1; ; spins++ {
		ready := to
		for earlier := range d.done[:block] {
			q := s.lane.keys[earlier]
			if row := max(q.from, int(d.done[earlier].Load())); row < q.to {
				ready = min(ready, row)
			}
		}
		if ready > from {
			return ready
		}
		if runtime.Gosched(); spins > 200 { // longer than a tile: the earlier block's thread may have no processor
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// leave records that a block of keys has added to all rows of dq before the given one.
func (d *gradients[T]) leave(block, row int) {
	if d.done != nil {
		d.done[block].Store(int64(row))
	}
}

// leaveAll records this for all rows. It runs during a panic too; otherwise other threads would wait forever.
func (d *gradients[T]) leaveAll(block int) { d.leave(block, math.MaxInt) }
