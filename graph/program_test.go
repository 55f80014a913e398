package graph

import (
	"errors"
	"slices"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestSiblingSharesParameters: one store of numbers, two graphs.
func TestSiblingSharesParameters(t *testing.T) {
	g := New(Float64, 1)
	w := g.Root().Sub("h.0").Param("w", Normal(1), 2, 3)
	s := g.Sibling()
	v := s.Root().Sub("h.0").Param("w", Const(99), 2, 3)
	p := mustCompile(t, v.SumAll())
	w.Tensor().Set(0, 40)
	v.Tensor().Set(1, 2)
	checkClose(t, "w", w.Tensor().Floats()[:2], []float64{40, 2}, 0)
	var sum float64
	for _, x := range w.Tensor().Floats() {
		sum += x
	}
	checkClose(t, "the sibling's sum", []float64{mustRun(t, p).Loss()}, []float64{sum}, 1e-15)

	r := g.Sibling()
	r.Root().Sub("h.0").Param("w", Const(0), 3, 2)
	want := "h.0.w: shape [3 2], but the shared parameter has (2, 3)"
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
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
		checkClose(t, "∂x, ∂y", []float64{v, p.Grad(y).At(i)}, []float64{2 * a * b * b, 2 * b * a * a}, 1e-14)
	}
}

// While a program runs, running or compiling a second one on the same graph is an error, and the first one continues.
// Programs of a sibling run at the same time. A change of parameters waits.
func TestOneRunOfAGraphAtATime(t *testing.T) {
	g := New(Float64, 1)
	inside, goOn := make(chan bool), make(chan bool)
	x := g.Root().Param("x", Const(2), 1, 1)
	y := x.Wrap(G.ApplyOp(counted{new(int), -1, func(x *tensor.Dense) (G.Value, error) {
		inside <- true
		<-goOn
		return x, nil
	}}, x.node))
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
	checkClose(t, "the sibling's", mustRun(t, sibling).Value().Floats(), []float64{4}, 0)
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
	checkClose(t, "the first run", p.Value().Floats(), []float64{2}, 0)
	checkClose(t, "the next one", mustRun(t, other).Value().Floats(), []float64{25}, 0)
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

// An outline stores the names and shapes of tensors that no machine could hold, allocates almost nothing, and can plan
// the memory of operations. It never computes.
func TestOutline(t *testing.T) {
	g := Outline(Float32)
	s := g.Root().Sub("h.0")
	var w, ids Expr
	allocated := testing.AllocsPerRun(1, func() {
		w = s.Param("weight"+string(rune('a'+len(g.params))), Normal(1), 1<<28, 1<<28)
	})
	if allocated > 40 {
		t.Errorf("a parameter costs %v allocations", allocated)
	}
	s.Value("mask", Const(0), 1<<27, 1<<27)
	ids = s.Ints("tokens", 1<<40, 7, NoneIgnored)
	if got := w.Shape(); !slices.Equal(got, []int{1 << 28, 1 << 28}) || w.Name() != "h.0.weightb" ||
		w.Tensor().Len() != 0 || ids.Ints() != nil {
		t.Errorf("got %v %v with %d numbers", w.Name(), got, w.Tensor().Len())
	}
	if len(g.Params()) != 2 || len(g.Leaves()) != 4 || !g.Outlined() {
		t.Errorf("got %d parameters of %d leaves, want 2 of 4", len(g.Params()), len(g.Leaves()))
	}
	y := s.Value("rows", Const(0), 1<<27, 3).MatMulT(s.Value("columns", Const(0), 1<<30, 3)) // 2^57 products
	if bytes, err := PlanBytes(y.Gather(ids)); !(bytes > 4*(1<<57)) || err != nil {
		t.Errorf("planned %v bytes and error %v, want more than 2^59", bytes, err)
	}
	if _, err := Compile(w); err == nil || !strings.Contains(err.Error(), "an outline") {
		t.Errorf("Compile: got %v, want an error", err)
	}
	if s.Param("weighta", Const(0), 1); g.Err() == nil ||
		!strings.Contains(g.Err().Error(), "h.0.weighta: declared twice") {
		t.Errorf("got %v, want declared twice", g.Err())
	}
	g = Outline(Float32)
	if g.Root().Value("none", Const(0), 3, 0); g.Err() == nil ||
		!strings.Contains(g.Err().Error(), "none: shape (3, 0)") {
		t.Errorf("got %v, want an error of the shape", g.Err())
	}
}

// The memory planned on an outline is the memory of a graph of numbers, including gradients, and PlanBytes returns the
// same for that graph.
func TestPlanBytes(t *testing.T) {
	model := func(g *Graph) (loss, w Expr) {
		s := g.Root()
		ids, w := s.Ints("ids", 5, 7, NoneIgnored), s.Param("w", Normal(1), 7, 4)
		return w.Gather(ids).MatMul(s.Param("v", Normal(1), 4, 4)).Tanh().SumAll(), w
	}
	for _, kernels := range []bool{true, false} {
		g := New(Float64, 1)
		g.Kernels = kernels
		loss, w := model(g)
		if _, err := Compile(loss, w); err != nil {
			t.Fatal(err)
		}
		want := float64(g.Bytes() + 8*(5+7*4+4*4))
		for _, g := range []*Graph{Outline(Float64), New(Float64, 1)} {
			g.Kernels = kernels
			loss, w := model(g)
			if got, err := PlanBytes(loss, w); got != want || err != nil {
				t.Errorf("kernels %t: planned %v bytes and error %v, want %v", kernels, got, err, want)
			}
		}
	}
	for _, x := range []Expr{{}, {g: New(Float32, 1)}} {
		if _, err := PlanBytes(x); err == nil {
			t.Error("an empty expression: got no error")
		}
	}
}

// Beyond its memory limit a graph allocates nothing: neither a declaration nor a program.
func TestMemoryLimit(t *testing.T) {
	g := New(Float32, 1)
	for set, want := range map[int64]int64{0: MachineMemory(), -1: MachineMemory(), 1: 1, 1 << 20: 1 << 20} {
		if g.SetMemoryLimit(set); g.MemoryLimit() != want {
			t.Errorf("set to %d, the limit is %d, want %d", set, g.MemoryLimit(), want)
		}
	}
	g.SetMemoryLimit(1 << 20)
	w := g.Root().Param("w", Const(1), 1<<16)
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	if _, err := Compile(w.Exp().Mul(w).SumAll()); err != nil { // 256 KiB of w, and once or twice that for results
		t.Error(err)
	}
	y := w.Exp()
	for range 6 {
		y = y.Join(y)
	}
	if _, err := Compile(y.SumAll()); err == nil ||
		!strings.Contains(err.Error(), "GiB held before, want at most 0.0009766 GiB") {
		t.Errorf("a program: got error %v", err)
	}
	wide := New(Float64, 1)
	wide.SetMemoryLimit(48 << 10)
	x := wide.Root().Value("x", Const(1), 64, 64) // 32 KiB, as is every result
	if _, err := Compile(x.Exp().Mul(x.Tanh()).SumAll()); err == nil ||
		!strings.Contains(err.Error(), "want at most 4.578e-05 GiB") {
		t.Errorf("a program of numbers of 8 bytes: got error %v", err)
	}
	s := g.Sibling()
	s.Root().Sub("h").Value("mask", Const(0), 1<<15, 1<<15)
	if s.Err() == nil || !strings.Contains(
		s.Err().Error(), "h.mask: shape (32768, 32768): memory: got 4 GiB with 0 GiB held before, want at most",
	) {
		t.Errorf("a sibling: got error %v", s.Err())
	}
	s = g.Sibling()
	if s.Root().Ints("ids", 1<<20, 1, NoneIgnored); s.Err() == nil ||
		!strings.Contains(s.Err().Error(), "ids: shape (1048576): memory: got 0.007812 GiB") {
		t.Errorf("integers: got error %v", s.Err())
	}
}
