package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// lane is a set of queries and keys of a head at regular distances. A mask may leave out all keys between the keys of a
// window, such as a dilated one or Longformer's, where every token has two keys. In a tile of adjacent keys most would
// then be hidden; in a tile of a lane they are not. Every query and every key is in exactly one lane; most masks have a
// single lane.
type lane struct {
	q, k              every
	at                int       // number of queries in the lanes before it
	queries           []span    // the keys of every query
	keys              []span    // the queries of every block of keys
	outside           [][]int32 // the keys of every query outside its span, counted without lanes
	forward, backward [][]seen  // the keys of each restRows queries that are in no tile of the pass
	scattered         bool      // there are keys outside of spans
	blocks            int       // number of blocks of queries
}

// every is the sequence first, first + step, and so on.
type every struct{ first, step int }

func (e every) count(n int) int { return max(0, (n-e.first+e.step-1)/e.step) }
func (e every) at(i int) int    { return e.first + i*e.step }

// place returns the index of a key in the lane. own reports whether the key is in the lane.
func (l *lane) place(key int32) (at int, own bool) {
	at = (int(key) - l.k.first) / l.k.step
	return at, l.k.at(at) == int(key)
}

// rowsOf returns the rows of m at the indices e.
func rowsOf[T kernel.Float](m gemm.Matrix[T], e every) gemm.Matrix[T] {
	m = m.From(e.first, 0)
	m.Stride *= e.step
	return m
}

// within returns the sizes of a lane.
func (h Shape) within(l *lane) Shape {
	h.Queries, h.Keys = l.q.count(h.Queries), l.k.count(h.Keys)
	return h
}

// laneOf returns the lane's part of a head's projections.
func laneOf[T kernel.Float](l *lane, p Projections[T]) Projections[T] {
	return Projections[T]{rowsOf(p.Q, l.q), rowsOf(p.K, l.k), rowsOf(p.V, l.k)}
}

// lanesOf returns the lanes of a mask matrix, derived from its last rows. The distance of a lane's keys is the distance
// of most visible neighbours there. Its queries have the same distance or, if a token has two keys, half of it. lanesOf
// returns nil if the lanes would be short.
func lanesOf[T kernel.Float](h Shape, mask matrix[T]) []lane {
	const rows, short = 8, 32
	var vote majority
	var scratch []T
	hidden := T(math.Inf(-1))
	for i := max(0, h.Queries-rows); i < h.Queries; i++ {
		last := -1
		for j, v := range mask.row(i, h.Keys, &scratch) {
			if v != hidden {
				if last >= 0 {
					vote.count(j - last)
				}
				last = j
			}
		}
	}
	step := vote.value
	if step < 2 || min(h.Keys, 2*h.Queries) < short*step {
		return nil
	}
	for of := step; 2*of >= step && step%of == 0; of /= 2 {
		if lanes := meeting(h, mask, of, step); lanes != nil {
			return lanes
		}
	}
	return nil
}

// meeting divides the queries into lanes with the step queries, and the keys into lanes with the step keys. A lane of
// queries gets the keys that its last query attends to most. meeting returns nil if two would get the same keys.
func meeting[T kernel.Float](h Shape, mask matrix[T], queries, keys int) []lane {
	var scratch []T
	lanes, hidden := make([]lane, keys), T(math.Inf(-1))
	for i := range lanes {
		lanes[i] = lane{q: every{h.Queries, 1}, k: every{i, keys}}
	}
	at := 0
	for first := range queries {
		q := every{first, queries}
		var vote majority
		last := q.at(q.count(h.Queries) - 1)
		for j, v := range mask.row(last, h.Keys, &scratch) {
			if v != hidden {
				vote.count(j % keys)
			}
		}
		l := &lanes[vote.value]
		if l.q.first != h.Queries {
			return nil
		}
		l.q, l.at = q, at
		at += q.count(h.Queries)
	}
	return lanes
}

// majority is the value of more than half of all counted values, if there is such a value (Boyer and Moore 1981).
type majority struct{ value, ahead int }

func (m *majority) count(value int) {
	switch {
	case m.ahead == 0:
		m.value, m.ahead = value, 1
	case m.value == value:
		m.ahead++
	default:
		m.ahead--
	}
}
