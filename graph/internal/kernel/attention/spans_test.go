package attention

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

func TestVisible(t *testing.T) {
	no := math.Inf(-1)
	for _, c := range []struct {
		mask []float64
		want span
	}{
		{[]float64{0, 0, 0}, span{0, 3, true}},
		{[]float64{no, 0, 0, no, no}, span{1, 3, true}},
		{[]float64{0, no, 0}, span{0, 3, false}},
		{[]float64{no, 0, 0.5, no}, span{1, 3, false}},
		{[]float64{-1, 0}, span{0, 2, false}},
		{[]float64{no, no, 7}, span{2, 3, false}},
		{[]float64{no, no}, span{0, 0, true}},
		{nil, span{0, 0, true}},
	} {
		if got := visible(c.mask); got != c.want {
			t.Errorf("%v: got %v, want %v", c.mask, got, c.want)
		}
	}
}

func TestAttendingAndAround(t *testing.T) {
	queries := []span{{}, {2, 5, true}, {4, 6, true}, {}, {1, 3, false}, {7, 9, true}}
	for _, c := range []struct{ from, to, first, last int }{
		{0, 9, 1, 6}, {0, 1, 0, 0}, {0, 2, 4, 5}, {3, 5, 1, 3}, {5, 7, 2, 3}, {6, 7, 0, 0}, {2, 3, 1, 5}, {8, 9, 5, 6},
	} {
		if got, want := attending(queries, c.from, c.to), (span{from: c.first, to: c.last}); got != want {
			t.Errorf("keys %d … %d: got queries %v, want %v", c.from, c.to, got, want)
		}
	}
	for _, c := range []struct{ from, to, first, last int }{
		{0, 1, 0, 0}, {0, 2, 2, 5}, {0, 3, 2, 6}, {2, 5, 1, 6}, {3, 6, 1, 9}, {4, 5, 1, 3}, {5, 6, 7, 9}, {1, 4, 2, 6},
	} {
		if got := around(queries[c.from:c.to]); got.from != c.first || got.to != c.last {
			t.Errorf("queries %d … %d: got keys %v, want %d … %d", c.from, c.to, got, c.first, c.last)
		}
	}
}

// One Spans follows masks of any size: it has the spans of a new Spans for each. In a run already read it stays.
func TestSpansAreReadAgain(t *testing.T) {
	pool := kernel.NewPool(1)
	shape := func(queries, keys int) Shape {
		return Shape{Batch: 2, Queries: queries, Keys: keys, Heads: 1, QK: 1, V: 1}
	}
	diagonal := masking{at: func(_, _, _, i, j int) float64 { return hideIf(j > i) }}
	perSequence := masking{perSequence: true, at: func(_, b, _, i, j int) float64 {
		return hideIf(j > i || b == 1 &&
			i == 1)
	}}
	s := new(Spans)
	for _, c := range []struct {
		masking
		shape  Shape
		blocks int
	}{
		{diagonal, shape(4, backwardKeys+1), 2},
		{perSequence, shape(2, backwardKeys+1), 2}, // as many queries in total, more keys
		{diagonal, shape(4, 2*backwardKeys), 2},
		{perSequence, shape(2, backwardKeys), 1},
		{perSequence, shape(3, backwardKeys-1), 1}, // the same number of keys
		{perSequence, shape(3, backwardKeys+1), 2},
		{diagonal, shape(6, 3*backwardKeys+1), 4},
		{diagonal, shape(1, 1), 1},
		{diagonal, shape(4, backwardKeys), 1},
	} {
		h, mask := c.shape, c.mask(c.shape)
		if got := h.blocks(); got != c.blocks {
			t.Fatalf("%d keys: got %d blocks, want %d", h.Keys, got, c.blocks)
		}
		fresh := new(Spans)
		readMask(pool, h, s, mask)
		readMask(pool, h, fresh, mask)
		if len(s.lanes) != mask.Batch {
			t.Fatalf("%v: got %d matrices, want %d", h, len(s.lanes), mask.Batch)
		}
		for m := range s.lanes {
			got, want := s.lanes[m][0], fresh.lanes[m][0]
			if len(got.keys) != c.blocks || !slices.Equal(got.keys, want.keys) ||
				!slices.Equal(got.queries, want.queries) {
				t.Errorf("%v: got %v and %v, want %v and %v", h, got.queries, got.keys, want.queries, want.keys)
			}
			for i, got := range got.queries {
				if want := (span{0, min(h.Keys, i+1), true}); got != want && !(m == 1 && i == 1) {
					t.Errorf("%v, query %d: got %v, want %v", h, i, got, want)
				}
			}
		}
	}
	h := shape(2, 3)
	s.Run = 7
	readMask(pool, h, s, diagonal.mask(h))
	for _, c := range []struct {
		run  uint64
		want int // number of keys of the first query
	}{{7, 1}, {8, 3}} {
		s.Run = c.run
		readMask(pool, h, s, Mask[float64]{Data: make([]float64, 6), Batch: 1, Heads: 1})
		if got := s.lanes[0][0].queries[0].to; got != c.want {
			t.Errorf("run %d: the first query attends to %d keys, want %d", c.run, got, c.want)
		}
	}
}
