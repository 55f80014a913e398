package nn

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// secondHalf hides everything from the first queries.
type secondHalf struct{}

func (secondHalf) Visible(_, i, j int) bool { return i >= 2 && j <= i }

func TestMaskErrors(t *testing.T) {
	d := Dims{Batch: 2, Context: 4}
	for _, c := range []struct {
		rule Visibility
		want string
	}{
		{secondHalf{}, "h.0.mask: query 0 of sequence 0 attends to no key"},
		{All{Causal{}, secondHalf{}}, "h.0.mask: query 0 of sequence 0 attends to no key"},
		{All{Window{2}, Padding{[]int{4, 2}}}, "h.0.mask: query 3 of sequence 1 attends to no key"},
		{Window{0}, "h.0.mask: a window of 0 tokens: at least 1, the token itself, is needed"},
		{All{Causal{}, Window{-3}}, "h.0.mask: a window of -3 tokens: at least 1, the token itself, is needed"},
		{Padding{[]int{4}}, "h.0.mask: 1 lengths for a batch of 2"},
		{Padding{nil}, "h.0.mask: 0 lengths for a batch of 2"},
		{Padding{[]int{4, 0}}, "h.0.mask: sequence 1 has length 0, not in 1 … 4"},
		{All{Causal{}, All{Padding{[]int{5, 4}}}}, "h.0.mask: sequence 0 has length 5, not in 1 … 4"},
	} {
		g := graph.New(graph.Float64, 1)
		NewMask(g.Root().Sub("h.0"), d, c.rule).Expr()
		if err := g.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%T %v: got %v, want %s", c.rule, c.rule, err, c.want)
		}
	}
}

// TestMaskUpdate: new lengths give other numbers; wrong lengths are an error and leave the old numbers.
func TestMaskUpdate(t *testing.T) {
	lengths := []int{3, 1}
	d := Dims{Batch: 2, Context: 3}
	m := NewMask(graph.New(graph.Float64, 1).Root().Sub("encoder"), d, All{Causal{}, Padding{lengths}})
	visible := func() (n int) {
		for _, v := range m.Expr().Tensor().F64 {
			if v == 0 {
				n++
			} else if !math.IsInf(v, -1) {
				t.Errorf("an entry is %v", v)
			}
		}
		return n
	}
	if got := visible(); got != 6+3 {
		t.Errorf("%d entries are visible, want 9", got)
	}
	lengths[1] = 2
	if err := m.Update(); err != nil {
		t.Error(err)
	}
	if got := visible(); got != 6+5 {
		t.Errorf("%d entries are visible, want 11", got)
	}
	lengths[1] = 4
	if err := m.Update(); err == nil || err.Error() != "encoder.mask: sequence 1 has length 4, not in 1 … 3" {
		t.Errorf("got %v", err)
	}
	if got := visible(); got != 6+5 {
		t.Errorf("after the error %d entries are visible, want 11", got)
	}
}

// reach lets a token attend to those before it and to the next n.
type reach struct{ n int }

func (r *reach) Visible(_, i, j int) bool { return j <= i+r.n }

// TestUpdateLooksAgain: a mask that is no longer causal after an Update is refused when tokens come one at a time.
func TestUpdateLooksAgain(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	rule := &reach{0}
	m := NewMask(g.Root(), Dims{Batch: 1, Context: 4}, rule)
	if m.requireCausal(g.Root()); g.Err() != nil {
		t.Fatal(g.Err())
	}
	rule.n = 1
	if err := m.Update(); err != nil {
		t.Fatal(err)
	}
	m.requireCausal(g.Root())
	if err := g.Err(); err == nil || err.Error() != "one token at a time: query 0 attends to the later key 1" {
		t.Errorf("got %v", err)
	}
}

// TestRandomKeysPerSequence: random keys are drawn from the keys that the padding of each sequence leaves, so every
// query has all of its keys.
func TestRandomKeysPerSequence(t *testing.T) {
	lengths := []int{9, 4}
	m := NewMask(graph.New(graph.Float64, 1).Root(), Dims{Batch: 2, Context: 9},
		All{Padding{lengths}, BigBird{Width: 1, Random: 2, Seed: 5}})
	numbers := m.Expr().Tensor()
	for row := range 2 * 9 {
		n, i, visible := lengths[row/9], row%9, 0
		for j := range 9 {
			if numbers.At(row*9+j) == 0 {
				visible++
				if j >= n {
					t.Errorf("query %d of sequence %d attends to padding %d", i, row/9, j)
				}
			}
		}
		want := 2
		if i < n {
			want++ // itself
		}
		if visible != want {
			t.Errorf("query %d of sequence %d attends to %d keys, want %d", i, row/9, visible, want)
		}
	}
}
