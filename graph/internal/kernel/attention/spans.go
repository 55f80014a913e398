package attention

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Spans describes the visible part of a mask, so that hidden tiles cost nothing: a causal mask halves the work, and a
// window makes it linear in the context, except for reading a stored mask, T² numbers once a run. It has an entry for
// every matrix of the mask.
type Spans struct {
	// Run is the number of the run for which the mask is read. The mask is read once in a run for all layers that share
	// it, and again in the next run, in which it may have changed. A mask that is computed is read again once it has
	// changed. If Run is 0 the mask is read every time.
	Run, read uint64

	reading
	undivided [][]lane  // for every matrix a single lane with all queries and keys
	buffers   sync.Pool // of scattered keys
}

// reading is the result of reading a mask.
type reading struct {
	lanes     [][]lane // of every matrix of the mask
	most      blocks
	seen      []int32 // for every matrix, the number of visible keys of every query
	scattered bool    // there are keys outside of spans
	biased    bool    // the mask is not 0 at some of these keys
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
	run := s.Run
	if run != 0 && mask.Rule != nil {
		run = mask.Rule.Changes + 1
	}
	if run != 0 && run == s.read {
		return
	}
	s.read = run
	masks := mask.Batch * mask.Heads
	var biased atomic.Bool
	s.reserve(masks, h.Queries)
	readRows(pool, h, s.undivided, mask, s.seen, &biased)
	now := reading{lanes: s.lanes, seen: s.seen}
	for m, undivided := range s.undivided {
		now.lanes[m] = undivided
		if h.Groups == h.Heads || mask.Heads == 1 { // heads that share keys have the same lanes
			if lanes := divide(pool, h, mask.matrix(m, h.Queries), &undivided[0], &biased); lanes != nil {
				now.lanes[m] = lanes
			}
		}
		now.finish(h, now.lanes[m])
	}
	now.biased = biased.Load()
	s.reading = now
}

// reserve makes room for the given number of matrices and of their rows.
func (s *Spans) reserve(masks, queries int) {
	if len(s.seen) != masks*queries {
		s.seen = make([]int32, masks*queries)
	}
	if len(s.undivided) != masks {
		s.lanes, s.undivided = make([][]lane, masks), make([][]lane, masks)
	}
	for m, lanes := range s.undivided {
		if len(lanes) == 0 || len(lanes[0].queries) != queries {
			s.undivided[m] = []lane{{
				q: every{0, 1}, k: every{0, 1}, queries: make([]span, queries), outside: make([][]int32, queries),
			}}
		}
	}
}

// readRows writes the spans of all rows of the mask, and the visible keys outside of them, to the undivided lanes, and
// the numbers of visible keys to seen. It sets biased if the mask is not 0 at one of the keys outside.
func readRows[T kernel.Float](
	pool *kernel.Pool, h Shape, undivided [][]lane, mask Mask[T], seen []int32, biased *atomic.Bool,
) {
	pool.Rows(len(undivided)*h.Queries, h.Keys, func(from, to int) {
		var scratch []T
		for i := from; i < to; i++ {
			l, q := &undivided[i/h.Queries][0], i%h.Queries
			l.outside[q] = l.outside[q][:0]
			if known, ok := mask.span(i, h.Keys); ok {
				l.queries[q], seen[i] = known, int32(known.to-known.from)
				continue
			}
			row := mask.row(i, h.Keys, &scratch)
			l.queries[q] = visible(row)
			seen[i] = count(row[l.queries[q].from:l.queries[q].to])
			if !l.queries[q].plain {
				l.queries[q], l.outside[q] = core(row, l.queries[q], l.outside[q])
				if slices.ContainsFunc(l.outside[q], func(key int32) bool { return row[key] != 0 }) {
					biased.Store(true)
				}
			}
		}
	})
}

// span returns the span of row i, if the mask's rows tell it.
func (m Mask[T]) span(i, keys int) (s span, ok bool) {
	if m.Rule == nil || m.Rule.Span == nil {
		return s, false
	}
	from, to, ok := m.Rule.Span(i)
	if from, to = max(0, from), min(keys, to); from >= to {
		from, to = 0, 0
	}
	return span{from, to, true}, ok
}

// finish completes the lanes of a matrix of the mask and counts their blocks.
func (r *reading) finish(h Shape, lanes []lane) {
	var sum blocks
	for i := range lanes {
		l := &lanes[i]
		l.finish(h.within(l))
		sum.forward += l.blocks
		sum.backward += len(l.keys)
		r.scattered = r.scattered || l.scattered
	}
	r.most = blocks{max(r.most.forward, sum.forward), max(r.most.backward, sum.backward)}
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

// count returns the number of visible keys in a part of a row of the mask.
func count[T kernel.Float](mask []T) (n int32) {
	hidden := T(math.Inf(-1))
	for _, v := range mask {
		if v != hidden {
			n++
		}
	}
	return n
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
