package optim

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// run trains a matrix w and a vector b on Σ w² + Σ b², whose gradient is 2w and 2b. After each step it returns their
// entries, w's first. Each step has the given number of equal micro-batches.
func run(
	t *testing.T, dtype graph.Dtype, micro, steps int, make func([]graph.Expr) (*Optimizer, error),
) (out [][]float64) {
	t.Helper()
	g := graph.New(dtype, 1)
	w, b := g.Root().Param("w", graph.Const(0.5), 2, 2), g.Root().Param("b", graph.Const(-1), 3)
	w.Tensor().Set(1, -2)
	p, err := graph.Compile(w.Square().SumAll().Add(b.Square().SumAll()), w, b)
	if err != nil {
		t.Fatal(err)
	}
	o, err := make([]graph.Expr{w, b})
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		for range micro - 1 {
			if err := errors.Join(p.Run(), o.Accumulate(p)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Update(p, 0.1); err != nil {
			t.Fatal(err)
		}
		out = append(out, append(w.Tensor().Floats(), b.Tensor().Floats()...))
	}
	return out
}

// AdamW's Moments returns its state: with the number of steps, another optimizer continues bit-identically.
func TestAdamWResumes(t *testing.T) {
	var first *Optimizer
	adamw := func(params []graph.Expr) (*Optimizer, error) {
		o, err := New(params, AdamW{Beta1: 0.9, Beta2: 0.99})
		if first != nil {
			first.Moments(func(kept, param string, from graph.Tensor) {
				o.Moments(func(other, of string, to graph.Tensor) {
					if kept == other && param == of {
						copy(to.F32, from.F32)
					}
				})
			})
			for i, p := range first.params {
				copy(params[i].Tensor().F32, p.Tensor().F32)
			}
			o.Steps = first.Steps
		}
		first = o
		return o, err
	}
	run(t, graph.Float32, 1, 2, adamw)
	if first.Steps != 2 {
		t.Errorf("%d steps done, want 2", first.Steps)
	}
	resumed := run(t, graph.Float32, 1, 2, adamw)[1]
	first = nil
	for i, want := range run(t, graph.Float32, 1, 4, adamw)[3] {
		if resumed[i] != want {
			t.Errorf("entry %d: %v, uninterrupted %v", i, resumed[i], want)
		}
	}
}

// A step that fails discards the accumulated gradients, also if the
// program has no gradient.
func TestAccumulated(t *testing.T) {
	o, p, w := descent(t, graph.Float64, SGD{})
	if err := errors.Join(p.Run(), o.Accumulate(p)); err != nil {
		t.Fatal(err)
	}
	w.Tensor().Set(0, math.NaN())
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if norm, err := o.Update(p, 0.25); !errors.Is(err, graph.ErrNotFinite) || !math.IsNaN(norm) {
		t.Errorf("got norm %v and error %v", norm, err)
	}
	w.Tensor().Set(0, 1)
	if step(t, o, p, 0.25); w.Tensor().At(0) != 0.5 || w.Tensor().At(1) != -2 {
		t.Errorf("w is %v, want [0.5 -2], by the last gradient alone", w.Tensor().Floats())
	}
	forward, err := graph.Compile(w.Square().SumAll())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Run(), o.Accumulate(p), forward.Run()); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Update(forward, 0.1); err == nil {
		t.Error("updated by a program without gradients")
	}
	before := o.Steps
	if err := o.Accumulate(forward); err == nil || o.Steps != before {
		t.Error("accumulated from a program without gradients")
	}
}

// A momentum starts at 0, not at the weights.
func TestMomentsStartAtZero(t *testing.T) {
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		o, _, w := descent(t, dtype, SGD{Momentum: 0.9})
		a, err := New([]graph.Expr{w}, AdamW{Beta1: 0.9, Beta2: 0.999})
		l, err2 := New([]graph.Expr{w}, Lion{Beta1: 0.9, Beta2: 0.99})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		for o, moments := range map[*Optimizer]int{o: 1, l: 1, a: 2} {
			list := 0
			o.Moments(func(kept, param string, m graph.Tensor) {
				if list++; !slices.Equal(m.Floats(), []float64{0, 0}) {
					t.Errorf("%v: %s of %s starts with %v", dtype, kept, param, m.Floats())
				}
				m.Set(0, 7)
			})
			if list != moments {
				t.Errorf("%v: got %d moments, want %d", dtype, list, moments)
			}
		}
		if w.Tensor().At(0) != 3 {
			t.Errorf("%v: a moment is the weight itself", dtype)
		}
	}
}

// A parameter that does not exist has nothing to update.
func TestNoParameter(t *testing.T) {
	if o, err := New([]graph.Expr{{}}, AdamW{}); o != nil || err == nil ||
		err.Error() != "adamw: a parameter is empty" {
		t.Errorf("got %v and error %v", o, err)
	}
}

// AdamW starts with ε = 1e-8: for a gradient of that size, the first step is half of one without ε.
func TestAdamWEpsilon(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	w := g.Root().Param("w", graph.Const(1), 1, 1)
	p, err := graph.Compile(w.Scale(1e-8).SumAll(), w)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New([]graph.Expr{w}, AdamW{Beta1: 0.9, Beta2: 0.99})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Update(p, 0.5); err != nil {
		t.Fatal(err)
	}
	if got := w.Tensor().At(0); !(math.Abs(got-0.75) <= 1e-6) {
		t.Errorf("w is %v, want 0.75", got)
	}
}

// A step that fails returns the reason, changes neither weights nor state, and is not counted.
func TestRefusedSteps(t *testing.T) {
	for _, rule := range []Rule{AdamW{Beta1: 0.9, Beta2: 0.999}, SGD{}, Lion{}, ScheduleFree{Beta2: 0.999}} {
		o, p, w := descent(t, graph.Float64, rule)
		w.Tensor().Set(1, math.Inf(1))
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Update(p, 0.1); !errors.Is(err, graph.ErrNotFinite) {
			t.Errorf("%T: got error %v", rule, err)
		}
		if w.Tensor().At(0) != 3 || o.Steps != 0 {
			t.Errorf("%T: w is %v after %d steps", rule, w.Tensor().Floats(), o.Steps)
		}
	}
}

// A gradient within the clip does not change.
func TestClipLeavesSmallGradients(t *testing.T) {
	o, p, w := descent(t, graph.Float64, SGD{})
	o.Clip = 11
	if norm := step(t, o, p, 0.25); norm != 10 || w.Tensor().At(0) != 1.5 || w.Tensor().At(1) != -2 {
		t.Errorf("w is %v after a gradient of norm %v", w.Tensor().Floats(), norm)
	}
}
