package gpt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// gradients returns the gradients of a complete model at random parameters and tokens, while training.
func gradients(t *testing.T, g *graph.Graph, c Config, kernels bool) (loss float64, grads map[string][]float64) {
	t.Helper()
	g.Kernels = kernels
	m, err := New(g, c, 2)
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Compile(m.Loss, m.Params()...)
	if err != nil {
		t.Fatal(err)
	}
	scramble(m.Params(), 4)
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range m.Tokens.Ints() {
		m.Tokens.Ints()[i], m.Targets.Ints()[i] = rng.IntN(c.VocabSize), rng.IntN(c.VocabSize+1)-1 // some of them ignored
	}
	g.SetStep(6)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	grads = map[string][]float64{}
	for _, x := range m.Params() {
		grads[x.Name()] = p.Grad(x).Floats()
	}
	return p.Loss(), grads
}

// A model with kernels computes the same as one of stock operations: the loss and the gradient of every parameter,
// adapted or frozen.
func TestKernelsAgainstStockOperations(t *testing.T) {
	types := []struct {
		empty     func() *graph.Graph
		tolerance float64
		worst     float64
	}{
		{empty: func() *graph.Graph { return graph.New(graph.Float64, 3) }, tolerance: 1e-12},
		{empty: func() *graph.Graph { return graph.New(graph.Float32, 3) }, tolerance: 1e-3},
	}
	for name, c := range variants() {
		for i := range types {
			empty, tolerance, worst := types[i].empty, types[i].tolerance, &types[i].worst
			t.Run(fmt.Sprintf("%s, to %.0e", name, tolerance), func(t *testing.T) {
				a, fast := gradients(t, empty(), c, true)
				b, spelled := gradients(t, empty(), c, false)
				d := relative([]float64{a}, []float64{b}, 0)
				if !(d <= tolerance) {
					t.Errorf("loss: %v with kernels, %v spelled", a, b)
				}
				if len(fast) != len(spelled) {
					t.Fatalf("%d parameters with kernels, %d spelled", len(fast), len(spelled))
				}
				var top float64
				for _, g := range spelled {
					top = max(top, largest(g))
				}
				for p, g := range spelled {
					d = relative(fast[p], g, top)
					if !(d <= tolerance) {
						t.Errorf("gradient of %s: off by %.2g, want at most %.0e", p, d, tolerance)
					}
					*worst = max(*worst, d)
				}
			})
		}
	}
	t.Logf("largest differences: float64 %.2g, float32 %.2g", types[0].worst, types[1].worst)
}

// A model of stock operations trains like the model with kernels.
func TestTrainerOfStockOperations(t *testing.T) {
	c := eventful()
	fast := newTrainer(t, c)
	c.Kernels = false
	spelled := newTrainer(t, c)
	want := steps(t, fast, 3)
	for i, p := range steps(t, spelled, 3) {
		if d := relative([]float64{p.Loss, p.Norm}, []float64{want[i].Loss, want[i].Norm}, 0); !(d <= 1e-4) {
			t.Errorf("step %d: loss %v and norm %v spelled, %v and %v with kernels", p.Step, p.Loss, p.Norm, want[i].Loss, want[i].Norm)
		}
	}
}
