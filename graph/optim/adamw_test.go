package optim

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestTrap07AdamWChangesTheWeights: Gorgonia's AdamW decays a copy and never writes it back.
func TestTrap07AdamWChangesTheWeights(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	x := g.Root().Param("x", graph.Const(2), 2, 2)
	o, err := New(g.Params(), AdamW{Beta1: 0.9, Beta2: 0.99})
	if err != nil {
		t.Fatal(err)
	}
	o.Decay = 0.1
	p, err := graph.Compile(x.SumAll(), x)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Update(p, 0.01); err != nil {
		t.Fatal(err)
	}
	for i, got := range x.Tensor().Floats() {
		if want := 2 - 0.01 - 0.002; !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("x[%d]: got %v, want %v", i, got, want)
		}
	}
}
