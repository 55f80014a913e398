package graph

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestTrap09ASecondRunComputesAgain: without a Reset in between, Gorgonia's second run does nothing.
func TestTrap09ASecondRunComputesAgain(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Value("x", Const(3), 1, 1)
	p := mustCompile(t, x.Square().SumAll(), x)
	for _, v := range []float64{3, 4, -5} {
		x.Tensor().Set(0, v)
		mustRun(t, p)
		checkClose(t, "x², 2x", []float64{p.Loss(), p.Grad(x).At(0)}, []float64{v * v, 2 * v}, 0)
	}
}

// TestTrap10HashCollision: Gorgonia treats nodes with the same 32-bit hash as one node. Compile returns an error for
// them, and a salted graph distinguishes them, even after another collision.
func TestTrap10HashCollision(t *testing.T) {
	const a, b = "p179599", "p362382" // found by search: some 2¹⁶ names are enough
	build := func(g *Graph) (Expr, Expr, Expr) {
		x, y := g.Root().Param(a, Const(2), 2), g.Root().Param(b, Const(5), 2)
		return x, y, x.Mul(y).Add(x).SumAll()
	}
	g := New(Float64, 1)
	x, y, loss := build(g)
	if x.Node().Hashcode() != y.Node().Hashcode() {
		t.Fatalf("%s and %s do not collide", a, b)
	}
	_, err := Compile(loss, x, y)
	if !errors.Is(err, errCollision) {
		t.Fatalf("got %v, want errCollision", err)
	}
	for _, name := range []string{a, b} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
	for salted := range 3 {
		g = g.salted()
		x, y, loss = build(g)
		p := mustRun(t, mustCompile(t, loss, x, y))
		checkClose(t, fmt.Sprintf("loss, salted %d times", salted+1), []float64{p.Loss()}, []float64{24}, 0)
		checkClose(t, "gradients", append(p.Grad(x).Floats(), p.Grad(y).Floats()...), []float64{6, 6, 2, 2}, 0)
	}
	if x.Name() != a {
		t.Errorf("salted, the parameter is called %s, want %s", x.Name(), a)
	}
}

// TestTrap10MergedOperation: the hashes of the inputs differ, but the hashes of their squares are equal. Gorgonia
// returns the first square for the second, before the graph shows any sign of it.
func TestTrap10MergedOperation(t *testing.T) {
	build := func(g *Graph) (x, y, loss Expr) {
		x, y = g.Root().Param("p12705", Const(2), 2), g.Root().Param("p38333", Const(5), 2)
		return x, y, x.Square().Add(y.Square().Scale(10)).SumAll()
	}
	g := New(Float64, 1)
	_, _, loss := build(g)
	_, err := Compile(loss)
	if !errors.Is(err, errCollision) || !strings.HasPrefix(err.Error(), "square p38333 (2): ") {
		t.Fatalf("got %v, want errCollision for the square of p38333", err)
	}
	g = g.salted()
	x, y, loss := build(g)
	p := mustRun(t, mustCompile(t, loss, x, y))
	checkClose(t, "loss", []float64{p.Loss()}, []float64{508}, 0)
	checkClose(t, "gradients", append(p.Grad(x).Floats(), p.Grad(y).Floats()...), []float64{4, 4, 100, 100}, 0)
}

// TestTrap11OneNameTwice: Gorgonia merges two inputs of the same name and shape.
func TestTrap11OneNameTwice(t *testing.T) {
	for what, again := range map[string]func(s Scope) Expr{
		"a parameter": func(s Scope) Expr { return s.Param("w", Const(0), 2, 3) },
		"a value":     func(s Scope) Expr { return s.Value("w", Const(0), 3, 2) },
		"integers":    func(s Scope) Expr { return s.Ints("w", 3, 2, -1) },
	} {
		g := New(Float64, 1)
		g.Root().Sub("h.0").Param("w", Const(0), 2, 3)
		again(g.Root().Sub("h").Sub("0"))
		if err := g.Err(); err == nil || err.Error() != "h.0.w: declared twice" {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// TestTrap12ConstantsMergeByName: two constants that differ in the last place remain two.
func TestTrap12ConstantsMergeByName(t *testing.T) {
	near1 := math.Nextafter(1, 2)
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(1), 1, 1)
	checkClose(t, "difference", values(t, x.Scale(near1).Sub(x.Scale(1))), []float64{near1 - 1}, 0)
	h := New(Float32, 1)
	y := h.Root().Param("y", Const(1), 1, 1)
	tenth := float64(math.Nextafter32(0.1, 1))
	want := []float64{tenth - float64(float32(0.1))}
	checkClose(t, "difference", values(t, y.Scale(tenth).Sub(y.Scale(0.1))), want, 0)
}

// TestTrap13SquareRootsInADenominator: the stock InverseSqrt has a wrong gradient; layers divide by Sqrt.
func TestTrap13SquareRootsInADenominator(t *testing.T) {
	g := New(Float64, 1)
	x, y := g.Root().Param("x", Normal(1), 2, 3), g.Root().Param("y", uniform(1, 2), 2, 3)
	checkGradients(t, x.Div(y.Sqrt()), x, y)
}

// TestTrap14IntermediateValuesSurvive: an intermediate gradient is read by later operations, which might overwrite it
// in place.
func TestTrap14IntermediateValuesSurvive(t *testing.T) {
	g := New(Float64, 1)
	g.Kernels = false
	x := g.Root().Param("x", Normal(1), 2, 3)
	h := x.Scale(2)
	k := h.Shift(1)
	p := mustRun(t, mustCompile(t, k.Mul(k).Add(h.Mul(k)).SumAll(), x, h, k))
	wantX, wantH, wantK := make([]float64, 6), make([]float64, 6), make([]float64, 6)
	loss := 0.
	for i, v := range x.Tensor().Floats() {
		h, k := 2*v, 2*v+1
		loss += k*k + h*k
		wantK[i] = 2*k + h
		wantH[i] = wantK[i] + k
		wantX[i] = 2 * wantH[i]
	}
	checkClose(t, "loss", []float64{p.Loss()}, []float64{loss}, 1e-14)
	checkClose(t, "∂x", p.Grad(x).Floats(), wantX, 1e-14)
	checkClose(t, "∂h", p.Grad(h).Floats(), wantH, 1e-14)
	checkClose(t, "∂k", p.Grad(k).Floats(), wantK, 1e-14)
}

// TestTrap15OnlyWhatIsAskedForIsComputed: Gorgonia would also run a branch that the output does not need.
func TestTrap15OnlyWhatIsAskedForIsComputed(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 1, 1)
	ran := false
	x.apply("watched", func() (*G.Node, error) {
		return G.ApplyOp(
			counted{new(int), -1, func(x *tensor.Dense) (G.Value, error) { ran = true; return x, nil }}, x.node,
		)
	})
	mustRun(t, mustCompile(t, x.Square().SumAll(), x))
	if ran {
		t.Error("an operation ran that the output does not need")
	}
}

// TestTrap16PanicBecomesAnError: a panic in Gorgonia's own goroutine would end the process.
func TestTrap16PanicBecomesAnError(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Sub("h.0").Param("x", Const(2), 1, 1)
	calls := 0
	y := x.apply("fragile", func() (*G.Node, error) {
		return G.ApplyOp(counted{new(int), -1, func(x *tensor.Dense) (G.Value, error) {
			if calls++; calls == 1 {
				panic("glass")
			}
			return x, nil
		}}, x.node)
	})
	p := mustCompile(t, y)
	if err := p.Run(); err == nil || !strings.Contains(err.Error(), "fragile") ||
		!strings.Contains(err.Error(), "glass") {
		t.Errorf("got %v", err)
	}
	checkClose(t, "the next run", mustRun(t, p).Value().Floats(), []float64{2}, 0)
}

// TestTrap17TypesAreMadeAnew: Gorgonia takes the type apart and reuses it, so every call returns a new one.
func TestTrap17TypesAreMadeAnew(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 2, 3)
	o := x.Reshape(3, 2).Node().Op()
	if a, b := o.Type(), o.Type(); a == b {
		t.Error("one type is handed out twice")
	}
}

// TestTrap18UnusedParameterIsNamed: Gorgonia's error is "Non Differentiable WRTs" and an address.
func TestTrap18UnusedParameterIsNamed(t *testing.T) {
	g := New(Float64, 1)
	x, w := g.Root().Param("x", Const(2), 2, 3), g.Root().Sub("h.1.attn").Param("weight", Const(1), 2, 3)
	_, err := Compile(x.Square().SumAll(), x, w)
	if err == nil || err.Error() != "h.1.attn.weight: the loss does not depend on it" {
		t.Errorf("got %v", err)
	}
}

// TestTrap18ASecondLossIsRefused: Gorgonia would return the first loss's gradients again.
func TestTrap18ASecondLossIsRefused(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 1, 1)
	mustCompile(t, x.Square().SumAll(), x)
	if _, err := Compile(x.Cube().SumAll(), x); err == nil ||
		!strings.Contains(err.Error(), "has been differentiated") {
		t.Errorf("got %v", err)
	}
	checkClose(t, "a forward program", values(t, x.Cube().SumAll()), []float64{8}, 0)
	s := g.Sibling()
	y := s.Root().Param("x", Const(0), 1, 1)
	p := mustRun(t, mustCompile(t, y.Cube().SumAll(), y))
	checkClose(t, "the sibling's", []float64{p.Loss(), p.Grad(y).At(0)}, []float64{8, 12}, 0)
}

// TestTrap18AFailedBackwardPassSaysWhy: a second attempt returns the error of the first one.
func TestTrap18AFailedBackwardPassSaysWhy(t *testing.T) {
	g := New(Float64, 1)
	x, w := g.Root().Param("x", Const(2), 1, 1), g.Root().Param("w", Const(2), 1, 1)
	loss := x.Square().SumAll()
	for range 3 {
		if _, err := Compile(loss, w); err == nil || err.Error() != "w: the loss does not depend on it" {
			t.Errorf("got %v", err)
		}
	}
	checkClose(t, "a forward program", values(t, loss), []float64{4}, 0)
	g = New(Float64, 1)
	x = g.Root().Param("x", Const(2), 1, 1)
	loss = x.Square().SumAll()
	g.SetMemoryLimit(1)
	_, first := Compile(loss, x)
	g.SetMemoryLimit(1 << 30)
	if _, err := Compile(loss, x); first == nil || err == nil || err.Error() != first.Error() {
		t.Errorf("got %v, want what was first, %v", err, first)
	}
}

// TestTrap19GradientsDoNotAddUpOverRuns: each run overwrites the gradients of the last one; Gorgonia's dual values add
// to them.
func TestTrap19GradientsDoNotAddUpOverRuns(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(3), 1, 1)
	p := mustCompile(t, x.Square().Add(x).SumAll(), x)
	for range 3 {
		checkClose(t, "2x + 1", mustRun(t, p).Grad(x).Floats(), []float64{7}, 0)
	}
}

// TestTrap20ConcurrentBuilds: differentiation uses constants that all of Gorgonia's graphs share; -race watches.
func TestTrap20ConcurrentBuilds(t *testing.T) {
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 3 {
				g := New(Float64, 1)
				x := g.Root().Param("x", Const(3), 2, 2)
				p, err := Compile(x.Softmax().Add(x).Mul(x.Mean()).SumAll(), x)
				if err == nil {
					err = p.Run()
				}
				if err != nil {
					t.Error(err)
					return
				}
				if got := p.Loss(); !(math.Abs(got-42) <= 1e-12) {
					t.Errorf("got %v, want 42", got)
				}
			}
		})
	}
	wait.Wait()
}

// TestTrap22Broadcasting: shapes that Gorgonia cannot multiply or stretch are an error that names them; those that our
// layers need work.
func TestTrap22Broadcasting(t *testing.T) {
	g := New(Float64, 1)
	a, b := g.Root().Param("a", Const(1), 2, 3, 4), g.Root().Param("b", Const(1), 4, 5)
	a.MatMul(b)
	want := "matmul a (2, 3, 4), b (4, 5): want two matrices, or two batches of the same number of matrices"
	if err := g.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	g = New(Float64, 1)
	x := g.Root().Param("x", Const(1), 2, 3)
	row := g.Root().Param("row", func(i int, _ *rand.Rand) float64 { return float64(i) }, 3)
	checkClose(t, "x + row", values(t, x.Add(row)), []float64{1, 2, 3, 1, 2, 3}, 0)
}

// TestTrap23SameSeedSameNumbers: Gorgonia's initial values come from the clock. Ours depend on the seed and the name,
// not on what is declared before.
func TestTrap23SameSeedSameNumbers(t *testing.T) {
	numbers := func(seed uint64, before int, name string) []float64 {
		g := New(Float64, seed)
		for i := range before {
			g.Root().Param(fmt.Sprint("other", i), Normal(1), 3)
		}
		return g.Root().Param(name, Normal(1), 50).Tensor().Floats()
	}
	base := numbers(1, 0, "w")
	checkClose(t, "declared later", numbers(1, 3, "w"), base, 0)
	if slices.Equal(base, numbers(2, 0, "w")) || slices.Equal(base, numbers(1, 0, "v")) {
		t.Error("another seed or name gives the same numbers")
	}
}

// TestTrap24TrainingIsOfTheRun: in Gorgonia the machine created last decides for all whether dropout is active.
func TestTrap24TrainingIsOfTheRun(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(1), 1, 100)
	y := x.Dropout(0.5)
	p := mustCompile(t, y)
	mustCompile(t, y.SumAll())
	run := func() []float64 { return mustRun(t, p).Value().Floats() }
	first := run()
	if !slices.Contains(first, 0) {
		t.Error("nothing is dropped in training")
	}
	checkClose(t, "the same step again", run(), first, 0)
	g.SetTraining(false)
	checkClose(t, "in evaluation", run(), x.Tensor().Floats(), 0)
	g.SetTraining(true)
	checkClose(t, "in training again", run(), first, 0)
	g.SetStep(1)
	if slices.Equal(run(), first) {
		t.Error("another step drops the same entries")
	}
}
