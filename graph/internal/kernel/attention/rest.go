package attention

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// A row of the mask may have some keys far from the most, such as global and random ones: a tile that held all of it would
// be hidden nearly everywhere. Its span is then the core alone, and restRows queries at a time attend to copies of the
// keys that are scattered, restKeys of them at most.
const restRows, restKeys = 16, 128

// rest is the scattered keys.
type rest struct {
	outside           [][]int32 // of every query, those that its span leaves out
	forward, backward [][]seen  // of restRows queries at a time, those that are in no tile of the pass
	any               bool
	biased            atomic.Bool // the mask is not 0 at some of them
}

// seen is a key, and a bit for each of restRows queries that attend to it.
type seen struct {
	key     int32
	queries uint16
}

// core is the part of a row's span that is worth a tile, and the visible keys outside of it: the cluster with most of
// them, in which less than gap hidden ones stand side by side, if the others are so few that gathering them, each as dear
// as cost of those in a tile, is cheaper than the tiles up to them. Else it is the whole span.
func core[T kernel.Float](row []T, all span, outside []int32) (span, []int32) {
	const gap, cost = 16, 32
	hidden := T(math.Inf(-1))
	holes := false // where gap numbers side by side are hidden, one of those is
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
	if c.to-c.from+cost*(total-c.count) >= all.to-all.from {
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

// cluster is some keys near one another, of which count are visible.
type cluster struct{ from, to, count int }

// list finds what is in no tile of either pass: of the forward pass a tile has the keys around the spans of a block of
// queries, of the backward pass the queries around those that attend to a block of keys.
func (r *rest) list(h Shape, s *Spans) {
	r.any = slices.ContainsFunc(r.outside, func(keys []int32) bool { return len(keys) > 0 })
	if !r.any {
		return
	}
	rows := h.rows()
	parts := (rows + restRows - 1) / restRows
	per := (h.Queries + rows - 1) / rows * parts // of a matrix of the mask
	if n := len(r.outside) / h.Queries * per; len(r.forward) != n {
		r.forward, r.backward = make([][]seen, n), make([][]seen, n)
	}
	for i := range r.forward {
		mask, block, part := i/per, i%per/parts, i%parts
		queries := s.queries[mask*h.Queries:][:h.Queries]
		from, to := block*rows, min(h.Queries, (block+1)*rows)
		tile := around(queries[from:to])
		r.forward[i], r.backward[i] = r.forward[i][:0], r.backward[i][:0]
		for q := from + part*restRows; q < min(to, from+(part+1)*restRows); q++ {
			for _, key := range r.outside[mask*h.Queries+q] {
				one := seen{key, 1 << (q - from - part*restRows)}
				if !tile.has(int(key)) {
					r.forward[i] = append(r.forward[i], one)
				}
				if !s.keys[mask*h.blocks()+int(key)/backwardKeys].has(q) {
					r.backward[i] = append(r.backward[i], one)
				}
			}
		}
		r.forward[i], r.backward[i] = together(r.forward[i]), together(r.backward[i])
	}
}

// together has every key once, in their order.
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

// rows is the queries of a block of the forward pass: two blocks at least, so that a causal mask hides half of the first.
func (h Shape) rows() int { return even(h.Queries, forwardQueries, 2) }

// of is the part of a list that is of a head's mask.
func (r *rest) of(list [][]seen, masks, mask int) [][]seen {
	if !r.any {
		return nil
	}
	n := len(list) / masks
	return list[mask*n : (mask+1)*n]
}
