package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// lane is some queries and keys of a head that stand equally far from one another. A mask may leave out all keys
// between those of a window, as dilated ones do, or Longformer's, where every token is two keys: to a tile of
// neighbours most would be hidden. Of a lane's they are not. Every query and every key is in one lane; of most masks
// one has all.
type lane struct {
	q, k              every
	at                int       // queries of the lanes before it
	queries           []span    // of every query the keys
	keys              []span    // of every block of keys the queries
	outside           [][]int32 // of every query those that its span leaves out, counted without lanes
	forward, backward [][]seen  // of restRows queries at a time those that are in no tile of the pass
	scattered         bool      // there are any
	blocks            int       // of queries
}

// every is the numbers first, first + step, and so on.
type every struct{ first, step int }

func (e every) count(n int) int { return max(0, (n-e.first+e.step-1)/e.step) }
func (e every) at(i int) int    { return e.first + i*e.step }

// place is where a key is among those of the lane, if it is one.
func (l *lane) place(key int32) (at int, own bool) {
	at = (int(key) - l.k.first) / l.k.step
	return at, l.k.at(at) == int(key)
}

// rowsOf returns the rows of m that e counts.
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

// of is the lane's part of a head's.
func laneOf[T kernel.Float](l *lane, p Projections[T]) Projections[T] {
	return Projections[T]{rowsOf(p.Q, l.q), rowsOf(p.K, l.k), rowsOf(p.V, l.k)}
}

// lanesOf returns those of a matrix of the mask, found in its last rows: keys are as far apart as most neighbours
// there, and queries as far or, if a token is two keys, half as far. There are none if lanes would be short.
func lanesOf[T kernel.Float](h Shape, mask []T) []lane {
	const rows, short = 8, 32
	var vote majority
	hidden := T(math.Inf(-1))
	for i := max(0, h.Queries-rows); i < h.Queries; i++ {
		last := -1
		for j, v := range mask[i*h.Keys : (i+1)*h.Keys] {
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

// meeting gives the queries of apart so many the keys that most of the last of them attend to, each in a lane of its
// own.
func meeting[T kernel.Float](h Shape, mask []T, queries, keys int) []lane {
	lanes, hidden := make([]lane, keys), T(math.Inf(-1))
	for i := range lanes {
		lanes[i] = lane{q: every{h.Queries, 1}, k: every{i, keys}}
	}
	at := 0
	for first := range queries {
		q := every{first, queries}
		var vote majority
		last := q.at(q.count(h.Queries) - 1)
		for j, v := range mask[last*h.Keys : (last+1)*h.Keys] {
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

// majority is what more than half of all that is counted are, if there is such a value (Boyer and Moore 1981).
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
