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

// Each test in this file stands for a trap of Gorgonia v0.9.18: it asserts that our form is right, and logs when the
// stock form has become right as well, so that ours may go.

func stock(t *testing.T, right bool, what string) {
	t.Helper()
	if right {
		t.Logf("%s is right in this version of Gorgonia: our own operation may go", what)
	}
}

// TestTrap01ReshapeAliases: the stock Reshape shares memory with its input, which the addition overwrites in place.
func TestTrap01ReshapeAliases(t *testing.T) {
	residual := func(g *Graph, reshape func(x Expr, shape ...int) Expr) (x, y Expr) {
		x = g.Root().Param("x", Normal(1), 2, 3)
		h := x.Scale(1.5)
		return x, h.Add(reshape(reshape(h, 3, 2).Tanh(), 2, 3)).Mul(h)
	}
	for _, kernels := range []bool{false, true} {
		g := New(Float64, 1)
		g.Kernels = kernels
		x, y := residual(g, Expr.Reshape)
		want := make([]float64, 6)
		for i, v := range x.Tensor().Floats() {
			want[i] = (1.5*v + math.Tanh(1.5*v)) * 1.5 * v
		}
		near(t, "y", values(t, y), want, 1e-14)
		checkGradients(t, y, x)
	}
	g := New(Float64, 1)
	g.Kernels = false
	x := g.Root().Param("x", Normal(1), 2, 3)
	h := x.Scale(1.5)
	flat := h.Wrap(G.Reshape(h.Node(), tensor.Shape{6}))
	y := h.Sub(x).Mul(flat.Wrap(G.Reshape(flat.Node(), tensor.Shape{2, 3})))
	right := true
	for i, got := range values(t, y) {
		v := x.Tensor().At(i)
		right = right && math.Abs(got-0.5*v*1.5*v) < 1e-12
	}
	stock(t, right, "Reshape")
}

// TestTrap02SliceHash: the stock slice hashes its bounds modulo 256, so q and v of a packed matrix become one node.
func TestTrap02SliceHash(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", func(i int, _ *rand.Rand) float64 { return float64(i) }, 1, 768)
	q, v := x.Cols(0, 128), x.Cols(256, 384)
	near(t, "v − q", values(t, v.Sub(q)), slices.Repeat([]float64{256}, 128), 0)
	a, err := G.Slice(x.Node(), nil, G.S(0, 128))
	if err != nil {
		t.Fatal(err)
	}
	b, err := G.Slice(x.Node(), nil, G.S(256, 384))
	if err != nil {
		t.Fatal(err)
	}
	stock(t, a != b, "Slice")
	w := g.Root().Param("w", Normal(1), 1, 768)
	checkGradients(t, w.Cols(0, 128).Join(w.Cols(512, 640)).Square().Cols(100, 140), w)
}

// TestTrap03SoftmaxAndLogSoftmaxMerge: both of one x in one graph stay two things.
func TestTrap03SoftmaxAndLogSoftmaxMerge(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Normal(1), 2, 3)
	p, logp := x.Softmax(), x.Sub(x.LogSumExp())
	near(t, "e^log p − p", values(t, logp.Exp().Sub(p)), make([]float64, 6), 1e-15)
	checkGradients(t, logp.Mul(p), x)
}

// TestTrap04SoftmaxMaximum: the stock softmax starts its maximum at the tensor's first entry and skips column 0.
func TestTrap04SoftmaxMaximum(t *testing.T) {
	numbers := []float64{0, 0, 0, 1000, 0.2, 0.3}
	third := 1. / 3
	want := []float64{third, third, third, 1, 0, 0}
	g := New(Float64, 1)
	x := g.Root().Param("x", func(i int, _ *rand.Rand) float64 { return numbers[i] }, 2, 3)
	near(t, "softmax", values(t, x.Softmax()), want, 1e-15)
	near(t, "log-sum-exp", values(t, x.LogSumExp()), []float64{math.Log(3), 1000}, 1e-15)
	checkGradients(t, x.Softmax(), x)

	g = New(Float64, 1)
	x = g.Root().Param("x", func(i int, _ *rand.Rand) float64 { return numbers[i] }, 2, 3)
	right := true
	for i, got := range values(t, x.Wrap(G.SoftMax(x.Node(), 1))) {
		right = right && math.Abs(got-want[i]) < 1e-12
	}
	stock(t, right, "SoftMax")
}

// TestTrap05SoftmaxOfOneColumn: every weight is 1, and the gradient 0.
func TestTrap05SoftmaxOfOneColumn(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Normal(1), 3, 1)
	near(t, "softmax", values(t, x.Softmax()), []float64{1, 1, 1}, 0)
	checkGradients(t, x.Softmax(), x)
}

// TestTrap06Dropout: what is kept is scaled by 1/(1−p) in both directions, p = 0 is the identity with its gradient, and
// two dropouts differ, be it in two layers or in one.
func TestTrap06Dropout(t *testing.T) {
	const n, p = 400, 0.1
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(1), 1, n)
	a, b := x.In(g.Root().Sub("a")).Dropout(p), x.In(g.Root().Sub("b")).Dropout(p)
	c := x.In(g.Root().Sub("a")).Dropout(p) // once more in the first layer
	kept := 1 / (1 - p)
	ya, yb, yc := values(t, a), values(t, b), values(t, c)
	for _, y := range [][]float64{ya, yb, yc} {
		for i, v := range y {
			if v != 0 && v != kept {
				t.Fatalf("entry %d is %v, want 0 or %v", i, v, kept)
			}
		}
		if !slices.Contains(y, 0) || !slices.Contains(y, kept) {
			t.Error("all entries or none are dropped")
		}
	}
	if slices.Equal(ya, yb) || slices.Equal(ya, yc) || slices.Equal(yb, yc) {
		t.Error("two dropouts share a mask")
	}
	prog := mustRun(t, mustCompile(t, a.SumAll(), x))
	near(t, "gradient", prog.Grad(x).Floats(), ya, 0)
	g = New(Float64, 1)
	x = g.Root().Param("x", Normal(1), 2, 3)
	checkGradients(t, x.Dropout(0).Square(), x)
}

// TestTrap07AdamWChangesTheWeights: the stock one decays a copy and never writes it back.
func TestTrap07AdamWChangesTheWeights(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 2, 2)
	o, err := NewAdamW(g.Params())
	if err != nil {
		t.Fatal(err)
	}
	o.Beta1, o.Beta2, o.Decay = 0.9, 0.99, 0.1
	p := mustRun(t, mustCompile(t, x.SumAll(), x))
	if _, err := o.Update(p, 0.01); err != nil {
		t.Fatal(err)
	}
	near(t, "x", x.Tensor().Floats(), slices.Repeat([]float64{2 - 0.01 - 0.002}, 4), 1e-9)
}

// TestTrap08TransposeInPlace: the stock product with a transpose turns the shared weight around while it runs. Two graphs
// that share one run at once here; -race watches.
func TestTrap08TransposeInPlace(t *testing.T) {
	first := New(Float32, 1)
	first.SetThreads(1)
	graphs := []*Graph{first, first.Sibling()}
	results := make([][]float64, len(graphs))
	programs := make([]*Program, len(graphs))
	for i, g := range graphs {
		x, w := g.Root().Value("x", Normal(1), 5, 7), g.Root().Param("w", Normal(1), 6, 7)
		y, ok := LinearT(x, w)
		if !ok {
			t.Fatal("no kernel")
		}
		z, _ := Linear(y, w, Expr{})
		programs[i] = mustCompile(t, z.Square().SumAll(), w)
	}
	var wait sync.WaitGroup
	for i, p := range programs {
		wait.Go(func() {
			for range 30 {
				if err := p.Run(); err != nil {
					t.Error(err)
				}
			}
			results[i] = p.Grad(graphs[i].params[0]).Floats()
		})
	}
	wait.Wait()
	near(t, "gradient in the sibling", results[1], results[0], 0)
}

// TestTrap09ASecondRunComputesAgain: without a Reset in between, Gorgonia's second run does nothing.
func TestTrap09ASecondRunComputesAgain(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Value("x", Const(3), 1, 1)
	p := mustCompile(t, x.Square().SumAll(), x)
	for _, v := range []float64{3, 4, -5} {
		x.Tensor().Set(0, v)
		mustRun(t, p)
		near(t, "x², 2x", []float64{p.Loss(), p.Grad(x).At(0)}, []float64{v * v, 2 * v}, 0)
	}
}

// colliding searches for two names that give inputs of one shape the same hash: some 2¹⁶ of them are enough.
func colliding(t *testing.T) (a, b string) {
	t.Helper()
	seen := map[uint32]string{}
	g := G.NewGraph()
	for i := range 1 << 20 {
		name := fmt.Sprintf("p%d", i)
		h := G.NewTensor(g, Float64, 2, G.WithShape(1, 2), G.WithName(name)).Hashcode()
		if other, ok := seen[h]; ok {
			return other, name
		}
		if seen[h] = name; i%4096 == 0 {
			g = G.NewGraph()
		}
	}
	t.Fatal("no two names collide")
	return "", ""
}

// TestTrap10HashCollision: Gorgonia takes nodes of one 32-bit hash for one node. Compile refuses them, and a salted graph
// tells them apart, also after another collision.
func TestTrap10HashCollision(t *testing.T) {
	a, b := colliding(t)
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
	if !errors.Is(err, ErrCollision) {
		t.Fatalf("got %v, want ErrCollision", err)
	}
	for _, name := range []string{a, b} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
	for salted := range 3 {
		g = g.Salted()
		x, y, loss = build(g)
		p := mustRun(t, mustCompile(t, loss, x, y))
		near(t, fmt.Sprintf("loss, salted %d times", salted+1), []float64{p.Loss()}, []float64{24}, 0)
		near(t, "gradients", append(p.Grad(x).Floats(), p.Grad(y).Floats()...), []float64{6, 6, 2, 2}, 0)
	}
	if x.Name() != a {
		t.Errorf("salted, the parameter is called %s, want %s", x.Name(), a)
	}
}

// TestTrap11OneNameTwice: Gorgonia makes one input of two of the same name and shape.
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

// TestTrap12ConstantsMergeByName: two constants that differ in the last place stay two.
func TestTrap12ConstantsMergeByName(t *testing.T) {
	near1 := math.Nextafter(1, 2)
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(1), 1, 1)
	near(t, "difference", values(t, x.Scale(near1).Sub(x.Scale(1))), []float64{near1 - 1}, 0)
	h := New(Float32, 1)
	y := h.Root().Param("y", Const(1), 1, 1)
	tenth := float64(math.Nextafter32(0.1, 1))
	near(t, "difference", values(t, y.Scale(tenth).Sub(y.Scale(0.1))), []float64{tenth - float64(float32(0.1))}, 0)
}

// TestTrap13SquareRootsInADenominator: the stock InverseSqrt has a wrong gradient; layers divide by Sqrt.
func TestTrap13SquareRootsInADenominator(t *testing.T) {
	g := New(Float64, 1)
	x, y := g.Root().Param("x", Normal(1), 2, 3), g.Root().Param("y", Uniform(1, 2), 2, 3)
	checkGradients(t, x.Div(y.Sqrt()), x, y)
}

// TestTrap14IntermediateValuesSurvive: the gradient of something in between is read by what comes after it, which may
// overwrite it in place.
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
	near(t, "loss", []float64{p.Loss()}, []float64{loss}, 1e-14)
	near(t, "∂x", p.Grad(x).Floats(), wantX, 1e-14)
	near(t, "∂h", p.Grad(h).Floats(), wantH, 1e-14)
	near(t, "∂k", p.Grad(k).Floats(), wantK, 1e-14)
}

// TestTrap15OnlyWhatIsAskedForIsComputed: a branch that the output does not need would run all the same.
func TestTrap15OnlyWhatIsAskedForIsComputed(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 1, 1)
	ran := false
	x.apply("watched", func() (*G.Node, error) {
		return g.node(&op{name: "watched", shape: tensor.Shape{1, 1}, f64: func([]float64, [][]float64) error { ran = true; return nil }}, x.node)
	})
	mustRun(t, mustCompile(t, x.Square().SumAll(), x))
	if ran {
		t.Error("an operation ran that nobody asked for")
	}
}

// TestTrap16PanicBecomesAnError: a panic in Gorgonia's own goroutine would end the process.
func TestTrap16PanicBecomesAnError(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Sub("h.0").Param("x", Const(2), 1, 1)
	calls := 0
	y := x.apply("fragile", func() (*G.Node, error) {
		return g.node(&op{name: "fragile", shape: tensor.Shape{1, 1}, f64: func(out []float64, in [][]float64) error {
			if calls++; calls == 1 {
				panic("glass")
			}
			copy(out, in[0])
			return nil
		}}, x.node)
	})
	p := mustCompile(t, y)
	if err := p.Run(); err == nil || !strings.Contains(err.Error(), "fragile") || !strings.Contains(err.Error(), "glass") {
		t.Errorf("got %v", err)
	}
	near(t, "the next run", mustRun(t, p).Value().Floats(), []float64{2}, 0)
}

// TestTrap17TypesAreMadeAnew: Gorgonia takes the type apart and reuses it.
func TestTrap17TypesAreMadeAnew(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 2, 3)
	o := x.Reshape(3, 2).Node().Op()
	if a, b := o.Type(), o.Type(); a == b {
		t.Error("one type is handed out twice")
	}
}

// TestTrap18UnusedParameterIsNamed: Gorgonia says "Non Differentiable WRTs" and an address.
func TestTrap18UnusedParameterIsNamed(t *testing.T) {
	g := New(Float64, 1)
	x, w := g.Root().Param("x", Const(2), 2, 3), g.Root().Sub("h.1.attn").Param("weight", Const(1), 2, 3)
	_, err := Compile(x.Square().SumAll(), x, w)
	if err == nil || err.Error() != "h.1.attn.weight: the loss does not depend on it" {
		t.Errorf("got %v", err)
	}
}

// TestTrap18ASecondLossIsRefused: Gorgonia would hand out the first loss's gradients again.
func TestTrap18ASecondLossIsRefused(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 1, 1)
	mustCompile(t, x.Square().SumAll(), x)
	if _, err := Compile(x.Cube().SumAll(), x); err == nil || !strings.Contains(err.Error(), "has been differentiated") {
		t.Errorf("got %v", err)
	}
	near(t, "a forward program", values(t, x.Cube().SumAll()), []float64{8}, 0)
	s := g.Sibling()
	y := s.Root().Param("x", Const(0), 1, 1)
	p := mustRun(t, mustCompile(t, y.Cube().SumAll(), y))
	near(t, "the sibling's", []float64{p.Loss(), p.Grad(y).At(0)}, []float64{8, 12}, 0)
}

// TestTrap19GradientsDoNotAddUpOverRuns.
func TestTrap19GradientsDoNotAddUpOverRuns(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(3), 1, 1)
	p := mustCompile(t, x.Square().Add(x).SumAll(), x)
	for range 3 {
		near(t, "2x + 1", mustRun(t, p).Grad(x).Floats(), []float64{7}, 0)
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

// TestTrap22Broadcasting: what Gorgonia cannot multiply or stretch is an error that names the shapes; what our layers
// need, it can.
func TestTrap22Broadcasting(t *testing.T) {
	g := New(Float64, 1)
	a, b := g.Root().Param("a", Const(1), 2, 3, 4), g.Root().Param("b", Const(1), 4, 5)
	a.MatMul(b)
	want := "matmul a (2, 3, 4), b (4, 5): matrices, or batches of equally many, are needed"
	if err := g.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	g = New(Float64, 1)
	x, row := g.Root().Param("x", Const(1), 2, 3), g.Root().Param("row", func(i int, _ *rand.Rand) float64 { return float64(i) }, 3)
	near(t, "x + row", values(t, x.Add(row)), []float64{1, 2, 3, 1, 2, 3}, 0)
}

// TestTrap23SameSeedSameNumbers: Gorgonia's initial values come from the clock. Ours depend on the seed and the name, not
// on what is declared before.
func TestTrap23SameSeedSameNumbers(t *testing.T) {
	numbers := func(seed uint64, before int, name string) []float64 {
		g := New(Float64, seed)
		for i := range before {
			g.Root().Param(fmt.Sprint("other", i), Normal(1), 3)
		}
		return g.Root().Param(name, Normal(1), 50).Tensor().Floats()
	}
	base := numbers(1, 0, "w")
	near(t, "declared later", numbers(1, 3, "w"), base, 0)
	if slices.Equal(base, numbers(2, 0, "w")) || slices.Equal(base, numbers(1, 0, "v")) {
		t.Error("another seed or name gives the same numbers")
	}
}

// TestTrap24TrainingIsOfTheRun: in Gorgonia the last machine made decides for all whether dropout drops.
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
	near(t, "the same step again", run(), first, 0)
	g.SetTraining(false)
	near(t, "in evaluation", run(), x.Tensor().Floats(), 0)
	g.SetTraining(true)
	near(t, "in training again", run(), first, 0)
	g.SetStep(1)
	if slices.Equal(run(), first) {
		t.Error("another step drops the same entries")
	}
}
