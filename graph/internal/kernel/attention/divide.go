package attention

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// divide returns the lanes of a mask matrix, with their spans and the keys outside of these, if they save a third of
// the cost of a single lane.
func divide[T kernel.Float](pool *kernel.Pool, h Shape, mask matrix[T], undivided *lane, biased *atomic.Bool) []lane {
	if !slices.ContainsFunc(undivided.queries, func(s span) bool { return !s.plain }) {
		return nil
	}
	lanes := lanesOf(h, mask)
	if lanes == nil {
		return nil
	}
	all := lane{queries: make([]span, h.Queries), outside: make([][]int32, h.Queries)}
	var of []*lane // query i is in lane i modulo len(of)
	for i := range lanes {
		l := &lanes[i]
		n := l.q.count(h.Queries)
		l.queries, l.outside = all.queries[l.at:][:n], all.outside[l.at:][:n]
		if n > 0 {
			of = append(of, l)
		}
	}
	slices.SortFunc(of, func(a, b *lane) int { return a.q.first - b.q.first })
	pool.Rows(h.Queries, h.Keys, func(from, to int) {
		var keys, scratch []T
		for i := from; i < to; i++ {
			row, l, at := mask.row(i, h.Keys, &scratch), of[i%len(of)], i/len(of)
			all := undivided.queries[i]
			first := max(0, all.from-l.k.first+l.k.step-1) / l.k.step
			keys = keys[:0]
			for j := l.k.at(first); j < all.to; j += l.k.step {
				keys = append(keys, row[j])
			}
			l.queries[at], l.outside[at] = ownSpan(l.k, first, keys, row[:all.to], all.from)
			l.outside[at] = append(l.outside[at], undivided.outside[i]...)
			if slices.ContainsFunc(l.outside[at], func(key int32) bool { return row[key] != 0 }) {
				biased.Store(true)
			}
		}
	})
	if 3*all.cost() >= 2*undivided.cost() {
		return nil
	}
	return lanes
}

// ownSpan returns the span of a lane's keys in a row of the mask, and the visible keys outside of it. The argument keys
// holds the mask of the lane's keys from number first to the row's end; from is the first visible key of the row.
func ownSpan[T kernel.Float](k every, first int, keys, row []T, from int) (own span, outside []int32) {
	if own = visible(keys); !own.plain {
		own, outside = core(keys, own, nil)
	}
	for i, key := range outside {
		outside[i] = int32(k.at(first + int(key)))
	}
	hidden := T(math.Inf(-1))
	for j := from; j < len(row); j++ {
		if row[j] != hidden && j%k.step != k.first {
			outside = append(outside, int32(j))
		}
	}
	if own.from < own.to {
		own.from, own.to = own.from+first, own.to+first
	}
	return own, outside
}

// cost returns the number of keys in spans, plus a multiple of those outside, most of which adjacent queries share.
func (l *lane) cost() (n int) {
	for i, s := range l.queries {
		n += s.to - s.from + 4*len(l.outside[i])
	}
	return n
}

// finish computes the fields of a lane that follow from its spans.
func (l *lane) finish(h Shape) {
	if len(l.keys) != h.blocks() {
		l.keys = make([]span, h.blocks())
	}
	for i := range l.keys {
		l.keys[i] = attending(l.queries, i*backwardKeys, min(h.Keys, (i+1)*backwardKeys))
	}
	l.blocks = (h.Queries + h.Rows() - 1) / h.Rows()
	l.scattered = slices.ContainsFunc(l.outside, func(keys []int32) bool { return len(keys) > 0 })
	if l.scattered {
		l.scatter(h)
	}
}
