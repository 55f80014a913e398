package graph

import (
	"slices"
	"strings"
	"testing"
)

// An outline knows the names and shapes of what no machine could hold, allocates next to nothing, and is never computed
// with.
func TestOutline(t *testing.T) {
	g := Outline(Float32)
	s := g.Root().Sub("h.0")
	var w, m, ids Expr
	allocated := testing.AllocsPerRun(1, func() {
		w = s.Param("weight"+string(rune('a'+len(g.params))), Normal(1), 1<<28, 1<<28)
	})
	if allocated > 20 {
		t.Errorf("a parameter costs %v allocations", allocated)
	}
	m = s.Value("mask", Const(0), 1<<27, 1<<27)
	ids = s.Ints("tokens", 1<<40, 7, 0)
	if got := w.Shape(); !slices.Equal(got, []int{1 << 28, 1 << 28}) || w.Name() != "h.0.weightb" || w.Tensor().Len() != 0 || ids.Ints() != nil {
		t.Errorf("got %v %v with %d numbers", w.Name(), got, w.Tensor().Len())
	}
	if len(g.Params()) != 2 || len(g.Leaves()) != 4 || !g.Outlined() {
		t.Errorf("got %d parameters of %d leaves, want 2 of 4", len(g.Params()), len(g.Leaves()))
	}
	y := w.MatMul(m).Add(w).Softmax().Gather(ids)
	if y.node != nil || g.Err() != nil {
		t.Errorf("operations: got a node or %v, want nothing", g.Err())
	}
	if _, err := Compile(w); err == nil || !strings.Contains(err.Error(), "an outline") {
		t.Errorf("Compile: got %v, want an error", err)
	}
	if s.Param("weighta", Const(0), 1); g.Err() == nil || !strings.Contains(g.Err().Error(), "h.0.weighta: declared twice") {
		t.Errorf("got %v, want declared twice", g.Err())
	}
	g = Outline(Float32)
	if g.Root().Value("none", Const(0), 3, 0); g.Err() == nil || !strings.Contains(g.Err().Error(), "none: shape (3, 0)") {
		t.Errorf("got %v, want an error of the shape", g.Err())
	}
}
