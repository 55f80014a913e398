package graph

import (
	"errors"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
