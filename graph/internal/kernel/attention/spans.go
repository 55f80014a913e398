package attention

import (
	"math"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Spans is what attention knows of its mask beforehand, so that hidden tiles cost nothing: a causal mask halves the work,
// and a window makes it linear in the context, except for reading the mask itself, T² numbers once a run. It has an entry
// for every matrix of the mask.
type Spans struct {
	// Run is the number of the run for which the mask is read: again in the next one, in which it may have changed, and once
	// for all layers that share it; 0 is every time.
	Run, read uint64

	queries []span // for every query the keys that it may attend to, or most of them: the rest is scattered
	keys    []span // for every block of backwardKeys keys the queries that may attend to any of them
	rest    rest
	buffers sync.Pool // of scattered keys
}

// span is from … to of a row or column of the mask: the rest is hidden, or scattered. It is plain if the mask is 0
// throughout.
type span struct {
	from, to int
	plain    bool
}

// readMask finds the spans.
func readMask[T kernel.Float](pool *kernel.Pool, h Shape, s *Spans, mask Mask[T]) {
	if s.Run != 0 && s.Run == s.read {
		return
	}
	s.read = s.Run
	masks, blocks := mask.Batch*mask.Heads, h.blocks()
	if len(s.queries) != masks*h.Queries || len(s.keys) != masks*blocks {
		s.queries, s.keys = make([]span, masks*h.Queries), make([]span, masks*blocks)
	}
	if len(s.rest.outside) != masks*h.Queries {
		s.rest.outside = make([][]int32, masks*h.Queries)
	}
	s.rest.biased.Store(false)
	pool.Rows(len(s.queries), h.Keys, func(from, to int) {
		for i := from; i < to; i++ {
			row := mask.Data[i*h.Keys : (i+1)*h.Keys]
			s.queries[i], s.rest.outside[i] = visible(row), s.rest.outside[i][:0]
			if !s.queries[i].plain {
				s.queries[i], s.rest.outside[i] = core(row, s.queries[i], s.rest.outside[i])
				if slices.ContainsFunc(s.rest.outside[i], func(key int32) bool { return row[key] != 0 }) {
					s.rest.biased.Store(true)
				}
			}
		}
	})
	for i := range s.keys {
		at := i % blocks * backwardKeys
		s.keys[i] = attending(s.queries[i/blocks*h.Queries:][:h.Queries], at, min(h.Keys, at+backwardKeys))
	}
	s.rest.list(h, s)
}

// blocks is the number of blocks of keys.
func (h Shape) blocks() int { return (h.Keys + backwardKeys - 1) / backwardKeys }

// visible is the span of a row of the mask.
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

// attending is the smallest span that holds all queries which attend to one of keys from … to.
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

// around is the smallest span that holds all.
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
