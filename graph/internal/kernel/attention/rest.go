package attention

import (
	"cmp"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// A row of the mask may have some keys far from most others, such as global and random ones: a tile that held the
// complete row would be hidden nearly everywhere. The row's span is then only the core, and restRows queries at a time
// attend to copies of the scattered keys, at most restKeys of them.
const restRows, restKeys = 16, 128

// scatteredCost is the cost of a score of a scattered key, as a multiple of one in a tile.
const scatteredCost = 32

// seen is a key, with a bit for each of restRows queries that is set if the query attends to the key.
type seen struct {
	key     int32
	queries uint16
}

// core returns the part of a row's span that is worth a tile, and the visible keys outside of it. This part is the
// cluster with the most visible keys, in which less than gap adjacent keys are hidden. The other keys must be so few
// that gathering them, at scatteredCost each, is cheaper than extending the tiles to them. Otherwise core returns the
// entire span.
func core[T kernel.Float](row []T, all span, outside []int32) (span, []int32) {
	const gap = 16
	hidden := T(math.Inf(-1))
	holes := false // of gap adjacent hidden keys, one is at a multiple of gap from the beginning
	for j := all.from; j < all.to && !holes; j += gap {
		holes = row[j] == hidden
	}
	if !holes {
		return all, outside
	}
	var list [32]cluster
	clusters, best, total := list[:0], 0, 0
	for j := all.from; j < all.to; {
		from := j
		for j < all.to && row[j] != hidden {
			j++
		}
		if last := len(clusters) - 1; last < 0 || from-clusters[last].to >= gap {
			if len(clusters) == len(list) {
				return all, outside
			}
			clusters = append(clusters, cluster{from: from})
		}
		c := &clusters[len(clusters)-1]
		c.to, c.count, total = j, c.count+j-from, total+j-from
		if c.count > clusters[best].count {
			best = len(clusters) - 1
		}
		for j < all.to && row[j] == hidden {
			j++
		}
	}
	c := clusters[best]
	if c.to-c.from+scatteredCost*(total-c.count) >= all.to-all.from {
		return all, outside
	}
	for i, other := range clusters {
		for j := other.from; j < other.to && i != best; j++ {
			if row[j] != hidden {
				outside = append(outside, int32(j))
			}
		}
	}
	return span{c.from, c.to, !slices.ContainsFunc(row[c.from:c.to], func(v T) bool { return v != 0 })}, outside
}

// cluster is a range of keys near one another, count of which are visible.
type cluster struct{ from, to, count int }

// scatter collects the keys that are in no tile of the forward or the backward pass. A tile of the forward pass covers
// the spans of a block of queries. A tile of the backward pass covers the queries that attend to a block of keys.
func (l *lane) scatter(h Shape) {
	rows := h.Rows()
	parts := (rows + restRows - 1) / restRows
	if n := (h.Queries + rows - 1) / rows * parts; len(l.forward) != n {
		l.forward, l.backward = make([][]seen, n), make([][]seen, n)
	}
	for i := range l.forward {
		from := i / parts * rows
		to := min(h.Queries, from+rows)
		tile := around(l.queries[from:to])
		l.forward[i], l.backward[i] = l.forward[i][:0], l.backward[i][:0]
		first := from + i%parts*restRows
		for q := first; q < min(to, first+restRows); q++ {
			for _, key := range l.outside[q] {
				one := seen{key, 1 << (q - first)}
				at, own := l.place(key)
				if !own || !tile.has(at) {
					l.forward[i] = append(l.forward[i], one)
				}
				if !own || !l.keys[at/backwardKeys].has(q) {
					l.backward[i] = append(l.backward[i], one)
				}
			}
		}
		l.forward[i], l.backward[i] = together(l.forward[i]), together(l.backward[i])
	}
}

// together merges equal keys and sorts the list.
func together(list []seen) []seen {
	slices.SortFunc(list, func(a, b seen) int { return cmp.Compare(a.key, b.key) })
	n := 0
	for _, one := range list {
		if n > 0 && list[n-1].key == one.key {
			list[n-1].queries |= one.queries
		} else {
			list[n] = one
			n++
		}
	}
	return list[:n]
}

func (s span) has(i int) bool { return i >= s.from && i < s.to }

// Rows returns the number of queries in a block of the forward pass. There are at least two blocks, so that a causal
// mask hides half of the first.
func (h Shape) Rows() int { return max(1, even(h.Queries, forwardQueries, 2)) }
