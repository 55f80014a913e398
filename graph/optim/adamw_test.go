package optim

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Only matrices decay.
func TestDecayOfMatrices(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	x, b := g.Root().Param("x", graph.Const(2), 2, 2), g.Root().Param("b", graph.Const(2), 3)
	o, err := New(g.Params(), SGD{})
	if err != nil {
		t.Fatal(err)
	}
	o.Decay = 0.5
	p, err := graph.Compile(x.SumAll().Add(b.SumAll()), x, b)
	if err != nil {
		t.Fatal(err)
	}
	if step(t, o, p, 0.25); x.Tensor().At(0) != 1.5 || b.Tensor().At(0) != 1.75 {
		t.Errorf("got %v and %v, want 1.5 and 1.75", x.Tensor().At(0), b.Tensor().At(0))
	}
}

// A factor on the rate of a parameter is one on its step, but not on its decay.
func TestRates(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	x, b := g.Root().Param("x", graph.Const(2), 2, 2), g.Root().Param("b", graph.Const(2), 3)
	o, err := New(g.Params(), SGD{})
	if err != nil {
		t.Fatal(err)
	}
	o.Decay, o.Rates = 0.5, []float64{0.5, 4}
	p, err := graph.Compile(x.SumAll().Add(b.SumAll()), x, b)
	if err != nil {
		t.Fatal(err)
	}
	if step(t, o, p, 0.25); x.Tensor().At(0) != 1.625 || b.Tensor().At(0) != 1 { // 2 − ¼·½·2 − ½·¼, 2 − 4·¼
		t.Errorf("got %v and %v, want 1.625 and 1", x.Tensor().At(0), b.Tensor().At(0))
	}
	for want, rates := range map[string][]float64{
		"sgd: rates: got 1, want one for each of 2 parameters":     {1},
		"sgd: rates: got 0 for b, want a finite number above 0":    {1, 0},
		"sgd: rates: got NaN for x, want a finite number above 0":  {math.NaN(), 1},
		"sgd: rates: got +Inf for b, want a finite number above 0": {1, math.Inf(1)},
	} {
		o.Rates = rates
		if _, err := o.Update(p, 0.25); err == nil || err.Error() != want || x.Tensor().At(0) != 1.625 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

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
