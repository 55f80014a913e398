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
		see  Visibility
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
		NewMask(g.Root().Sub("h.0"), d, c.see).Expr()
		if err := g.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%T %v: got %v, want %s", c.see, c.see, err, c.want)
		}
	}
}

// TestMaskUpdate: new lengths are other numbers; wrong ones are an error and leave the old.
func TestMaskUpdate(t *testing.T) {
	lengths := []int{3, 1}
	d := Dims{Batch: 2, Context: 3}
	m := NewMask(graph.New(graph.Float64, 1).Root(), d, All{Causal{}, Padding{lengths}})
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
	if err := m.Update(); err == nil || err.Error() != "mask: sequence 1 has length 4, not in 1 … 3" {
		t.Errorf("got %v", err)
	}
	if got := visible(); got != 6+5 {
		t.Errorf("after the error %d entries are visible, want 11", got)
	}
}
