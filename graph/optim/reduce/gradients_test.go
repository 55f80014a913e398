package reduce

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// A step of one micro-batch copies no gradient. Gradients of nothing, an update that is nil and a parameter that is out
// of range are errors, or empty.
func TestGradients(t *testing.T) {
	w := graph.New(graph.Float64, 1).Root().Param("w", graph.Const(2), 3)
	p, err := graph.Compile(w.Square().SumAll(), w)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	g, err := New("mine", []graph.Expr{w})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	update := func(_, i int, x, grad graph.Tensor, scale float64) bool {
		calls++
		return i == 0 && x.At(0) == 2 && grad.At(0) == 4 && scale == 0.5
	}
	if norm, err := g.Apply(p, math.Sqrt(12), update); err != nil || norm != math.Sqrt(48) || calls != 1 ||
		len(g.sums) != 0 {
		t.Errorf("got norm %v, error %v, %d updates and %d copies, want %v, none, 1 and 0",
			norm, err, calls, len(g.sums), math.Sqrt(48))
	}
	for _, empty := range []*Gradients{nil, {}} {
		empty.Across(nil)
		empty.Before(nil)
		empty.Tree(2)
		empty.Forget()
		if _, err := empty.Whole("w", w.Tensor()); err == nil || empty.First("w", w.Tensor()) != 0 {
			t.Errorf("of no parameters: got error %v and %d", err, empty.First("w", w.Tensor()))
		}
		_, failed := empty.Apply(p, 0, update)
		for _, err := range []error{failed, empty.Accumulate(p), empty.Last(p), empty.Shard(p)} {
			if err == nil || !strings.Contains(err.Error(), "create them with New") {
				t.Errorf("got error %v", err)
			}
		}
	}
	if _, err := g.Apply(p, 0, nil); err == nil || err.Error() != "mine: the update is nil" {
		t.Errorf("got error %v", err)
	}
	for _, i := range []int{-1, 1} {
		if got := g.Zeros(i).Len(); got != 0 {
			t.Errorf("parameter %d has %d zeros, want none", i, got)
		}
	}
}
