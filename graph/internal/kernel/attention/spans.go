package attention

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Spans describes the visible part of a mask, so that hidden tiles cost nothing: a causal mask halves the work, and a
// window makes it linear in the context, except for reading the mask itself, T² numbers once a run. It has an entry for
// every matrix of the mask.
type Spans struct {
	// Run is the number of the run for which the mask is read. The mask is read once in a run for all layers that share
	// it, and again in the next run, in which it may have changed. If Run is 0 it is read every time.
	Run, read uint64

	lanes     [][]lane // of every matrix of the mask
	undivided [][]lane // for every matrix a single lane with all queries and keys
	most      blocks
	scattered bool        // there are keys outside of spans
	biased    atomic.Bool // the mask is not 0 at some of these keys
	buffers   sync.Pool   // of scattered keys
}

// blocks counts the blocks of a head: of queries in the forward pass, of keys in the backward pass.
type blocks struct{ forward, backward int }

// span is the range from … to of a row or column of the mask. The rest is hidden or scattered. A span is plain if the
// mask is 0 in all of it.
type span struct {
	from, to int
	plain    bool
}

// readMask computes the spans.
func readMask[T kernel.Float](pool *kernel.Pool, h Shape, s *Spans, mask Mask[T]) {
	if s.Run != 0 && s.Run == s.read {
		return
	}
	s.read = s.Run
	masks, n := mask.Batch*mask.Heads, h.Queries*h.Keys
	if len(s.undivided) != masks {
		s.lanes, s.undivided = make([][]lane, masks), make([][]lane, masks)
	}
	for m := range s.undivided {
		if len(s.undivided[m]) == 0 || len(s.undivided[m][0].queries) != h.Queries {
			s.undivided[m] = []lane{{
				q: every{0, 1}, k: every{0, 1}, queries: make([]span, h.Queries), outside: make([][]int32, h.Queries),
			}}
		}
	}
	s.biased.Store(false)
	pool.Rows(masks*h.Queries, h.Keys, func(from, to int) {
		for i := from; i < to; i++ {
			row, l, q := mask.Data[i*h.Keys:(i+1)*h.Keys], &s.undivided[i/h.Queries][0], i%h.Queries
			l.queries[q], l.outside[q] = visible(row), l.outside[q][:0]
			if !l.queries[q].plain {
				l.queries[q], l.outside[q] = core(row, l.queries[q], l.outside[q])
				if slices.ContainsFunc(l.outside[q], func(key int32) bool { return row[key] != 0 }) {
					s.biased.Store(true)
				}
			}
		}
	})
	s.most, s.scattered = blocks{}, false
	for m, undivided := range s.undivided {
		s.lanes[m] = undivided
		if h.Groups == h.Heads || mask.Heads == 1 { // heads that share keys have the same lanes
			if lanes := divide(pool, h, mask.Data[m*n:(m+1)*n], &undivided[0], &s.biased); lanes != nil {
				s.lanes[m] = lanes
			}
		}
		var sum blocks
		for i := range s.lanes[m] {
			l := &s.lanes[m][i]
			l.finish(h.within(l))
			sum.forward += l.blocks
			sum.backward += len(l.keys)
			s.scattered = s.scattered || l.scattered
		}
		s.most = blocks{max(s.most.forward, sum.forward), max(s.most.backward, sum.backward)}
	}
}

// blocks returns the number of blocks of keys.
func (h Shape) blocks() int { return (h.Keys + backwardKeys - 1) / backwardKeys }

// visible returns the span of a row of the mask.
func visible[T kernel.Float](mask []T) span {
	hidden := T(math.Inf(-1))
	from, to := 0, len(mask)
	for to > 0 && mask[to-1] == hidden {
		to--
	}
	for from < to && mask[from] == hidden {
		from++
	}
	for _, v := range mask[from:to] {
		if v != 0 {
			return span{from, to, false}
		}
	}
	return span{from, to, true}
}

// attending returns the smallest span that holds all queries that attend to any of keys from … to.
func attending(queries []span, from, to int) (s span) {
	for i, q := range queries {
		if q.from < to && q.to > from {
			if s.to == 0 {
				s.from = i
			}
			s.to = i + 1
		}
	}
	return s
}

// around returns the smallest span that holds all of the given ones.
func around(spans []span) (all span) {
	for _, s := range spans {
		switch {
		case s.from == s.to:
		case all.to == 0:
			all = s
		default:
			all.from, all.to = min(all.from, s.from), max(all.to, s.to)
		}
	}
	return all
}
