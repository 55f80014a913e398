package graph

import (
	"errors"
	"math"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestFreezing: a parameter that is not listed has no gradient, and the gradients of the others do not change.
func TestFreezing(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		build := func() (x, w, loss Expr) {
			g := New(Float64, 1)
			g.Kernels = kernels
			x, w = g.Root().Param("x", Normal(1), 3, 4), g.Root().Param("w", Normal(1), 4, 2)
			y, ok := Linear(x, w, Expr{})
			if !ok {
				y = x.MatMul(w)
			}
			return x, w, y.Tanh().SumAll()
		}
		x, w, loss := build()
		both := mustRun(t, mustCompile(t, loss, x, w))
		fx, fw, floss := build()
		one := mustRun(t, mustCompile(t, floss, fw))
		near(t, "gradient of w", one.Grad(fw).Floats(), both.Grad(w).Floats(), 0)
		if got := one.Grad(fx); got.Len() != 0 {
			t.Errorf("the frozen x has the gradient %v", got)
		}
		if both.Grad(x).Len() != 12 {
			t.Errorf("x has a gradient of %d entries", both.Grad(x).Len())
		}
	}
}

// TestSiblingSharesParameters: one store of numbers, two graphs.
func TestSiblingSharesParameters(t *testing.T) {
	g := New(Float64, 1)
	w := g.Root().Sub("h.0").Param("w", Normal(1), 2, 3)
	s := g.Sibling()
	v := s.Root().Sub("h.0").Param("w", Const(99), 2, 3)
	p := mustCompile(t, v.SumAll())
	w.Tensor().Set(0, 40)
	v.Tensor().Set(1, 2)
	near(t, "w", w.Tensor().Floats()[:2], []float64{40, 2}, 0)
	var sum float64
	for _, x := range w.Tensor().Floats() {
		sum += x
	}
	near(t, "the sibling's sum", []float64{mustRun(t, p).Loss()}, []float64{sum}, 1e-15)

	r := g.Sibling()
	r.Root().Sub("h.0").Param("w", Const(0), 3, 2)
	want := "h.0.w: shape [3 2], but the shared parameter has (2, 3)"
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestForwardAndGradientPrograms: a graph may have any number of forward programs, compiled before and after.
func TestForwardAndGradientPrograms(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := New(Float64, 1)
		g.Kernels = kernels
		x := g.Root().Param("x", Normal(1), 3, 4)
		h := x.Tanh()
		if y, ok := GELU(x); ok {
			h = y
		}
		loss := h.Square().SumAll()
		before := mustCompile(t, h)
		grad := mustCompile(t, loss, x)
		after := mustCompile(t, loss)
		for _, v := range []float64{0.3, -1.1} {
			x.Tensor().Set(5, v)
			want := math.Pow(math.Tanh(v), 2)
			if kernels {
				want = math.Pow(v*math.Erfc(-v/math.Sqrt2)/2, 2)
			}
			mustRun(t, grad)
			first := grad.Grad(x).Clone()
			near(t, "h²", []float64{math.Pow(mustRun(t, before).Value().At(5), 2)}, []float64{want}, 1e-14)
			near(t, "loss", []float64{mustRun(t, after).Loss()}, []float64{grad.Loss()}, 0)
			mustRun(t, grad)
			near(t, "gradient", grad.Grad(x).Floats(), first.Floats(), 0)
		}
	}
}

// TestVectorsAreVectorsOutside: a vector is stored as (1, d), but declared and read as (d).
func TestVectorsAreVectorsOutside(t *testing.T) {
	g := New(Float32, 1)
	b := g.Root().Param("b", Normal(1), 3)
	p := mustRun(t, mustCompile(t, b.Square().SumAll(), b))
	for what, shape := range map[string][]int{"tensor": b.Tensor().Shape, "gradient": p.Grad(b).Shape} {
		if len(shape) != 1 || shape[0] != 3 {
			t.Errorf("%s: shape %v, want [3]", what, shape)
		}
	}
}

// A gradient may be requested twice: it is the same one.
func TestGradientAskedForTwice(t *testing.T) {
	g := New(Float64, 1)
	x, y := g.Root().Param("x", Normal(1), 2, 3), g.Root().Param("y", Normal(1), 2, 3)
	loss := x.Mul(y).Square().SumAll()
	p := mustRun(t, mustCompile(t, loss, x, y, x, x))
	for i, v := range p.Grad(x).Floats() {
		a, b := x.Tensor().At(i), y.Tensor().At(i)
		near(t, "∂x, ∂y", []float64{v, p.Grad(y).At(i)}, []float64{2 * a * b * b, 2 * b * a * a}, 1e-14)
	}
}

// The gradient of an operand has the operand's shape, even if others have the same number of entries.
func TestShapeOfErrors(t *testing.T) {
	g := New(Float64, 1)
	x, y, w := g.Root().Param("x", Normal(1), 5, 1), g.Root().Value("y", Normal(1), 1, 5), g.Root().Value("w", Const(1), 5, 1)
	loss, ok := SquaredError(x.Scale(2), y, w)
	if !ok {
		t.Fatal(g.Err())
	}
	p := mustRun(t, mustCompile(t, loss.Add(x.Square().SumAll()), x))
	for i, got := range p.Grad(x).Floats() {
		a := x.Tensor().At(i)
		near(t, "∂x", []float64{got}, []float64{4./5*(2*a-y.Tensor().At(i)) + 2*a}, 1e-14)
	}
}

// While a program runs, running or compiling a second one on the same graph is an error, and the first one continues.
// Programs of a sibling run at the same time. A change of parameters waits.
func TestOneRunOfAGraphAtATime(t *testing.T) {
	g := New(Float64, 1)
	inside, goOn := make(chan bool), make(chan bool)
	x := g.Root().Param("x", Const(2), 1, 1)
	y := x.apply("waiting", func() (*G.Node, error) {
		return g.node(&op{name: "waiting", shape: tensor.Shape{1, 1}, f64: func(out []float64, in [][]float64) {
			inside <- true
			<-goOn
			copy(out, in[0])
		}}, x.node)
	})
	p, other := mustCompile(t, y), mustCompile(t, x.Square())
	s := g.Sibling()
	sibling := mustCompile(t, s.Root().Param("x", Const(0), 1, 1).Square())
	done := make(chan error)
	go func() { done <- p.Run() }()
	<-inside
	for what, run := range map[string]func() error{
		"the same program":     p.Run,
		"another one":          other.Run,
		"one that is compiled": func() error { _, err := Compile(x.Scale(3)); return err },
	} {
		if err := run(); !errors.Is(err, errRunning) {
			t.Errorf("%s: got error %v, want errRunning", what, err)
		}
	}
	near(t, "the sibling's", mustRun(t, sibling).Value().Floats(), []float64{4}, 0)
	changed := make(chan bool)
	go g.Exclusive(func() {
		x.Tensor().Set(0, 5)
		close(changed)
	})
	select {
	case <-changed:
		t.Error("a parameter changed while a program that reads it ran")
	default:
	}
	goOn <- true
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-changed
	near(t, "the first run", p.Value().Floats(), []float64{2}, 0)
	near(t, "the next one", mustRun(t, other).Value().Floats(), []float64{25}, 0)
}

// Before the first run, and after a failed one, there is no result.
func TestResultsOfNoRun(t *testing.T) {
	g := New(Float64, 1)
	x, ids := g.Root().Param("x", Const(3), 2, 2), g.Root().Ints("ids", 2, 2, -1)
	p := mustCompile(t, x.Gather(ids).SumAll(), x)
	none := func(when string) {
		t.Helper()
		if l := p.Loss(); l == l || p.Value().Len() != 0 || p.Grad(x).Len() != 0 {
			t.Errorf("%s: loss %v, value %v, gradient %v", when, l, p.Value(), p.Grad(x))
		}
	}
	none("before the first run")
	if mustRun(t, p); p.Loss() != 12 || p.Grad(x).At(0) != 2 {
		t.Errorf("got %v and %v, want 12 and 2", p.Loss(), p.Grad(x).At(0))
	}
	if ids.Ints()[1] = 2; p.Run() == nil {
		t.Fatal("an id out of range was accepted")
	}
	none("after a failed run")
	for _, p := range []*Program{nil, {}} {
		if err := p.Run(); err == nil || p.Loss() == p.Loss() || p.Value().Len()+p.Grad(x).Len()+len(p.Stock()) != 0 {
			t.Errorf("a program that Compile did not create runs: %v", err)
		}
	}
}

// Watch passes gradients on during the backward pass, the last layer's first, in the order that it returned. They equal
// the gradients after the run, for kernels and for stock operations, and for a matrix that is used twice.
func TestWatch(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := New(Float32, 3)
		g.Kernels = kernels
		x := g.Root().Value("x", Normal(1), 6, 8)
		var wrt []Expr
		tied := g.Root().Param("tied", Normal(0.5), 8, 8)
		h := x.MatMul(tied)
		for _, name := range []string{"a", "b", "c"} {
			w := g.Root().Sub("%s", name).Param("w", Normal(0.5), 8, 8)
			bias := g.Root().Sub("%s", name).Param("b", Normal(0.5), 8)
			wrt = append(wrt, w, bias)
			y, ok := Linear(h, w, bias)
			if !ok {
				y = h.MatMul(w).Add(bias)
			}
			h = h.Add(y.Tanh())
		}
		p := mustCompile(t, h.MatMul(tied).Square().SumAll(), append(wrt, tied)...)
		var shown []string
		seen := map[string][]float64{}
		order := p.Watch(func(x Expr, grad Tensor) {
			shown = append(shown, x.Name())
			seen[x.Name()] = grad.Floats()
		})
		for range 2 {
			shown = nil
			mustRun(t, p)
			var said []string
			for _, x := range order {
				said = append(said, x.Name())
				if !slices.Equal(seen[x.Name()], p.Grad(x).Floats()) {
					t.Errorf("kernels %t: %s was shown another gradient", kernels, x.Name())
				}
			}
			if !slices.Equal(shown, said) || len(shown) != 7 || shown[6] != "tied" || shown[0][0] != 'c' ||
				shown[5][0] != 'a' {
				t.Errorf("kernels %t: shown %v, said %v", kernels, shown, said)
			}
		}
		shown = nil
		if p.Watch(nil); mustRun(t, p) != nil && shown != nil {
			t.Errorf("kernels %t: shown %v to nobody", kernels, shown)
		}
	}
}
