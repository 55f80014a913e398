package optim

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// A parameter belongs to the first group that has it, by name and by shape. Each keeps its own moments, and all its
// pieces follow its rule.
func TestGroups(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	w, b, e := g.Root().Param("h.0.w", graph.Const(1), 2, 2), g.Root().Param("h.0.b", graph.Const(1), 3),
		g.Root().Param("wte", graph.Const(1), 1, 2)
	p, err := graph.Compile(w.SumAll().Add(b.SumAll()).Add(e.SumAll()), w, b, e)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New([]graph.Expr{w, b, e}, Groups{"three", []Group{
		{Names: []string{"wte", "h.*"}, Matrices: true, Rule: Groups{"inner", []Group{
			{Names: []string{"wte"}, Rule: SGD{}}, {Rule: SGD{Momentum: 0.5}},
		}}},
		{Rule: AdamW{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		step(t, o, p, 0.25)
	}
	for _, tc := range []struct {
		x       graph.Expr
		want    float64
		moments int
	}{{w, 1 - 0.25 - 0.375, 1}, {b, 0.5, 2}, {e, 0.5, 0}} {
		if got := tc.x.Tensor().At(0); !(got-tc.want <= 1e-7 && tc.want-got <= 1e-7) {
			t.Errorf("%s: got %v, want %v", tc.x.Name(), got, tc.want)
		}
		n := 0
		o.Moments(func(_, param string, _ graph.Tensor) {
			if param == tc.x.Name() {
				n++
			}
		})
		if n != tc.moments {
			t.Errorf("%s: got %d moments, want %d", tc.x.Name(), n, tc.moments)
		}
	}
}
