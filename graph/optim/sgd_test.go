package optim

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// descent returns the loss w² with an optimizer, at w = (3, −4).
func descent(t *testing.T, dtype graph.Dtype, rule Rule) (*Optimizer, *graph.Program, graph.Expr) {
	t.Helper()
	g := graph.New(dtype, 1)
	w := g.Root().Param("w", graph.Const(0), 1, 2)
	w.Tensor().Set(0, 3)
	w.Tensor().Set(1, -4)
	p, err := graph.Compile(w.Square().SumAll(), w)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New([]graph.Expr{w}, rule)
	if err != nil {
		t.Fatal(err)
	}
	return o, p, w
}

func step(t *testing.T, o *Optimizer, p *graph.Program, lr float64) float64 {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	norm, err := o.Update(p, lr)
	if err != nil {
		t.Fatal(err)
	}
	return norm
}

// The gradient of w² is 2w, so a step is w(1 − 2η). Clipped to 1 it is a step of η towards 0. For two micro-batches it
// uses the mean.
func TestSGD(t *testing.T) {
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		o, p, w := descent(t, dtype, SGD{})
		if norm := step(t, o, p, 0.25); norm != 10 || w.Tensor().At(0) != 1.5 || w.Tensor().At(1) != -2 {
			t.Errorf("%v: w is %v after a gradient of norm %v", dtype, w.Tensor().Floats(), norm)
		}
		o.Clip = 1
		if norm := step(t, o, p, 0.5); !(norm == 5 && math.Abs(w.Tensor().At(0)-1.2) <= 1e-7 &&
			math.Abs(w.Tensor().At(1)+1.6) <= 1e-7) {
			t.Errorf("%v: clipped, w is %v after a gradient of norm %v", dtype, w.Tensor().Floats(), norm)
		}
		o.Clip = 0
		w.Tensor().Set(0, 1)
		if err := errors.Join(p.Run(), o.Accumulate(p)); err != nil {
			t.Fatal(err)
		}
		w.Tensor().Set(0, 3)
		if step(t, o, p, 0.25); w.Tensor().At(0) != 3-0.25*(2+6)/2 {
			t.Errorf("%v: w is %v after gradients of 2 and 6", dtype, w.Tensor().At(0))
		}
		if o.Steps != 3 {
			t.Errorf("%d steps, want 3", o.Steps)
		}
	}
}

// Two steps in exact numbers, with momentum and decay.
func TestSGDByNumbers(t *testing.T) {
	w, m := []float64{2, -1}, []float64{0, 0}
	step := func(g ...float64) {
		SGD{Momentum: 0.5}.Step(Step{Rate: 0.5, Decay: 0.25, Scale: 2, W: graph.Tensor{F64: w},
			G: graph.Tensor{F64: g}, M: graph.Tensor{F64: m}})
	}
	step(3, -4)
	if want := []float64{-1.25, 3.125}; !slices.Equal(w, want) || !slices.Equal(m, []float64{6, -8}) {
		t.Errorf("step 1: got %v and moments %v, want %v, 6 and -8", w, m, want)
	}
	step(1, 0)
	if want := []float64{-3.59375, 4.734375}; !slices.Equal(w, want) || !slices.Equal(m, []float64{5, -4}) {
		t.Errorf("step 2: got %v and moments %v, want %v, 5 and -4", w, m, want)
	}
	m = []float64{0x1p-95, 0x1p-96, -0x1p-95}
	w = make([]float64, 3)
	if step(0, 0, 0); !slices.Equal(m, []float64{0x1p-96, 0, -0x1p-96}) {
		t.Errorf("the smallest moment is 2⁻⁹⁵: got %v", m)
	}
}

// Moments returns the complete state: copied to another optimizer it resumes bit-identically.
func TestSGDMomentumResumes(t *testing.T) {
	o, p, w := descent(t, graph.Float32, SGD{Momentum: 0.9})
	again, q, v := descent(t, graph.Float32, SGD{Momentum: 0.9})
	for range 3 {
		step(t, o, p, 0.01)
	}
	copy(v.Tensor().F32, w.Tensor().F32)
	o.Moments(func(kept, param string, m graph.Tensor) {
		again.Moments(func(other, of string, to graph.Tensor) {
			if kept != "m" || other != "m" || param != "w" || of != "w" || m.Len() != 2 {
				t.Errorf("%s of %q and %s of %q, %d entries", kept, param, other, of, m.Len())
			}
			copy(to.F32, m.F32)
		})
	})
	for range 3 {
		step(t, o, p, 0.01)
		step(t, again, q, 0.01)
	}
	for i := range 2 {
		if v.Tensor().F32[i] != w.Tensor().F32[i] || w.Tensor().F32[i] == 3 {
			t.Errorf("entry %d: %v, uninterrupted %v", i, v.Tensor().F32[i], w.Tensor().F32[i])
		}
	}
	plain, _, _ := descent(t, graph.Float32, SGD{})
	plain.Moments(func(kept, param string, _ graph.Tensor) {
		t.Errorf("%s has %s without a momentum", param, kept)
	})
}

func TestSGDErrors(t *testing.T) {
	if _, err := New(nil, SGD{}); err == nil || err.Error() != "sgd: no parameters" {
		t.Errorf("got error %v", err)
	}
	o, p, w := descent(t, graph.Float64, SGD{})
	w.Tensor().Set(1, math.Inf(1))
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Update(p, 0.1); !errors.Is(err, graph.ErrNotFinite) ||
		!strings.Contains(err.Error(), "the gradient of w") {
		t.Errorf("got error %v, want ErrNotFinite of w", err)
	}
	if w.Tensor().At(0) != 3 || o.Steps != 0 {
		t.Errorf("w is %v after %d steps, want it as it was", w.Tensor().At(0), o.Steps)
	}
	other := graph.New(graph.Float64, 1)
	x := other.Root().Param("x", graph.Const(1), 2, 2)
	forward, err := graph.Compile(x.SumAll())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Update(forward, 0.1); err == nil ||
		!strings.Contains(err.Error(), "sgd: w has 2 entries, but its gradient has 0") {
		t.Errorf("got error %v, want one that names both numbers", err)
	}
}
