package nn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// onesDropped is dropout of a matrix of ones in a separate graph, and its gradient for Δ = 1, 2, 3, …
type onesDropped struct {
	g     *graph.Graph
	value func(t *testing.T) (y, dx []float64)
}

func dropOnes(t *testing.T, p float64, n int, kernels bool, place string) onesDropped {
	t.Helper()
	g := graph.New(graph.Float64, 7)
	g.Kernels = kernels
	at := newSite(g, shapes[0])
	at.Dropout = p
	x := g.Root().Value("x", graph.Const(1), n, 1)
	delta := g.Root().Value("delta", graph.Const(0), n, 1)
	for i := range n {
		delta.Tensor().Set(i, float64(i+1))
	}
	y := NewDropout(at.At(place)).Forward(x)
	forward, err := graph.Compile(y)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	backward, err := graph.Compile(y.Mul(delta).SumAll(), x)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return onesDropped{g, func(t *testing.T) ([]float64, []float64) {
		t.Helper()
		if err := forward.Run(); err != nil {
			t.Fatal(err)
		}
		y := slices.Clone(forward.Value().Floats())
		if err := backward.Run(); err != nil {
			t.Fatal(err)
		}
		return y, slices.Clone(backward.Grad(x).Floats())
	}}
}

// Entries that are not dropped are divided by 1 − p, so that the mean of many entries stays, within four standard
// deviations.
func TestI28MeanIsKept(t *testing.T) {
	const n = 100_000
	for _, kernels := range []bool{true, false} {
		for _, p := range []float64{0.1, 0.5, 0.9} {
			y, _ := dropOnes(t, p, n, kernels, "drop").value(t)
			sum := 0.0
			for i, v := range y {
				if v != 0 && !(math.Abs(v*(1-p)-1) <= 1e-15) {
					t.Fatalf("p = %v: entry %d is %v, want 0 or %v", p, i, v, 1/(1-p))
				}
				sum += v
			}
			if most := 4 * math.Sqrt(p/(1-p)/n); !(math.Abs(sum/n-1) <= most) {
				t.Errorf("kernels %t, p = %v: the mean is %v, want 1 ± %.2g", kernels, p, sum/n, most)
			}
		}
	}
}

// In evaluation nothing is dropped or scaled, to the bit, forwards and backwards.
func TestI28IdentityInEvaluation(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		d := dropOnes(t, 0.7, 50, kernels, "drop")
		d.g.SetTraining(false)
		y, dx := d.value(t)
		for i := range y {
			if y[i] != 1 || dx[i] != float64(i+1) {
				t.Fatalf("kernels %t: entry %d is %v with the gradient %v, want 1 and %d", kernels, i, y[i], dx[i], i+1)
			}
		}
	}
}

// The mask is a function of seed, place, step and entry: the same in every run, in both forms and for Δ, which passes
// where the activation passed, and another one at another place or step.
func TestI28MaskIsFixed(t *testing.T) {
	const n, p = 400, 0.3
	first := dropOnes(t, p, n, true, "drop")
	mask := first.g.DropoutMask("h.0.drop", p, n)
	for name, d := range map[string]onesDropped{"first": first, "again": first, "spelled": dropOnes(t, p, n, false, "drop")} {
		d.g.SetStep(0)
		y, dx := d.value(t)
		for i := range y {
			if want := float64(i+1) * mask[i]; y[i] != mask[i] || !(math.Abs(dx[i]-want) <= 1e-12*want) {
				t.Fatalf("%s: entry %d is %v with the gradient %v, want %v and %v", name, i, y[i], dx[i], mask[i], want)
			}
		}
	}
	other, _ := dropOnes(t, p, n, true, "drop_2").value(t)
	first.g.SetStep(1)
	later, _ := first.value(t)
	for name, m := range map[string][]float64{"another place": other, "another step": later} {
		same := 0
		for i := range m {
			if m[i] == mask[i] {
				same++
			}
		}
		// Two independent masks agree in p² + (1 − p)² of the entries.
		want := (p*p + (1-p)*(1-p)) * n
		if !(math.Abs(float64(same)-want) <= 4*math.Sqrt(n)/2) {
			t.Errorf("%s: %d of %d entries are as before, want about %v", name, same, n, want)
		}
	}
}

// In evaluation every layer with dropout equals the same layer without it, and in training it does not.
func TestI28LayersInEvaluation(t *testing.T) {
	for name, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"attention": func(at Site, x graph.Expr) graph.Expr { return NewSelfAttention(at).Forward(x) },
		"mlp":       func(at Site, x graph.Expr) graph.Expr { return NewMLP(at).Forward(x) },
		"swiglu":    func(at Site, x graph.Expr) graph.Expr { return NewSwiGLU(at).Forward(x) },
		"block":     func(at Site, x graph.Expr) graph.Expr { return NewBlock(at, causal).Forward(x) },
	} {
		for _, kernels := range []bool{true, false} {
			run := func(p float64, training bool) graph.Tensor {
				g := graph.New(graph.Float64, 7)
				g.Kernels = kernels
				at := newSite(g, shapes[0])
				at.Dropout = p
				y := build(at, g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd))
				for _, p := range g.Params() {
					for i := range p.Tensor().Len() {
						p.Tensor().Set(i, p.Tensor().At(i)+0.3*math.Sin(float64(i+1)))
					}
				}
				g.SetTraining(training)
				return output(t, y)
			}
			what := fmt.Sprintf("%s, kernels %t", name, kernels)
			plain := run(0, true)
			if e := distance(run(0.4, false), plain, 0); e != 0 {
				t.Errorf("%s: evaluation is %.2g off the layer without dropout, want 0", what, e)
			}
			if e := distance(run(0.4, true), plain, 0); !(e > 0.01) {
				t.Errorf("%s: training is %.2g off the layer without dropout, want more", what, e)
			}
		}
	}
}
