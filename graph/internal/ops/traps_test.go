package ops_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	. "github.com/pedestrian-ml/pedestrian/graph"
	. "github.com/pedestrian-ml/pedestrian/graph/fused"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Each TestTrap in this package and in graph stands for a trap of Gorgonia v0.9.18. It asserts that our form is right,
// and logs if the stock form has become right as well, so that ours can be removed.

func stock(t *testing.T, right bool, what string) {
	t.Helper()
	if right {
		t.Logf("%s is right in this version of Gorgonia: our own operation may go", what)
	}
}

// TestTrap01ReshapeAliases: the stock Reshape shares memory with its input, which in Gorgonia's machine the addition
// overwrites in place. A Program copies the result.
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
	want := make([]float64, 6)
	for i, v := range x.Tensor().Floats() {
		want[i] = 0.5 * v * 1.5 * v
	}
	near(t, "with the stock Reshape", values(t, y), want, 1e-14)
	checkGradients(t, y, x)
}

// TestTrap02SliceHash: the stock slice hashes its bounds modulo 256, so q and v of a packed matrix become one node.
func TestTrap02SliceHash(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", func(i int, _ *rand.Rand) float64 { return float64(i) }, 1, 768)
	q, v := x.Columns(0, 128), x.Columns(256, 384)
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
	checkGradients(t, w.Columns(0, 128).Join(w.Columns(512, 640)).Square().Columns(100, 140), w)
}

// TestTrap03SoftmaxAndLogSoftmaxMerge: a softmax and a log-softmax of one x in one graph remain two nodes.
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

// TestTrap06Dropout: kept entries are scaled by 1/(1−p) in both directions, p = 0 is the identity with its gradient,
// and two dropouts differ, in two layers or in one.
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

// TestTrap08TransposeInPlace: the stock product with a transpose transposes the weight's header while it runs, so that
// in Gorgonia's machine two graphs could not share it. Here two graphs that share one run at once; -race watches.
func TestTrap08TransposeInPlace(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		first := New(Float32, 1)
		first.Kernels = kernels
		first.SetThreads(1)
		graphs := []*Graph{first, first.Sibling()}
		results := make([][]float64, len(graphs))
		programs := make([]*Program, len(graphs))
		for i, g := range graphs {
			x, w := g.Root().Value("x", Normal(1), 5, 7), g.Root().Param("w", Normal(1), 6, 7)
			z := x.MatMulT(w).MatMul(w)
			if y, ok := LinearT(x, w); ok {
				z, _ = Linear(y, w, Expr{})
			}
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
				results[i] = p.Grad(graphs[i].Params()[0]).Floats()
			})
		}
		wait.Wait()
		near(t, "gradient in the sibling", results[1], results[0], 0)
	}
}

// The stock selection of rows panics in its backward pass if the result is a single number, and returns one entry for
// all rows if the table is.
func TestRowsOfOneNumber(t *testing.T) {
	for _, c := range []struct {
		rows int
		ids  []int
	}{{3, []int{2}}, {1, []int{0, 0, 0}}} {
		g := New(Float64, 1)
		g.Kernels = false
		table, ids := g.Root().Param("table", Normal(1), c.rows, 1), g.Root().Ints("ids", len(c.ids), c.rows, -1)
		copy(ids.Ints(), c.ids)
		p := mustRun(t, mustCompile(t, table.Gather(ids).Square().SumAll(), table))
		want := make([]float64, c.rows)
		for _, id := range c.ids {
			want[id] += 2 * table.Tensor().At(id)
		}
		near(t, "gradient", p.Grad(table).Floats(), want, 0)
	}
}

// TestTrapSigmoidEndsEarly: the stock sigmoid is 1 from 19 on in float64, and its derivative 0 there, and the stock
// softplus x from 16 on. The sigmoid of −20 has its digits here.
func TestTrapSigmoidEndsEarly(t *testing.T) {
	g := New(Float64, 1)
	g.Kernels = false
	x := g.Root().Param("x", Const(20), 1, 2)
	x.Tensor().Set(1, -20)
	const small = 2.0611536181902037e-9
	near(t, "sigmoid", values(t, x.Sigmoid().Scale(1e9)), []float64{1e9 * (1 - small), 1e9 * small}, 1e-14)
	near(t, "softplus", values(t, x.Softplus()), []float64{20 + small, small}, 1e-15)
	s, p := values(t, x.Wrap(G.Sigmoid(x.Node()))), values(t, x.Wrap(G.Softplus(x.Node())))
	stock(t, s[0] < 1 && p[0] > 20, "the sigmoid or softplus")
}

// TestTrapRectifyAtZero: the stock operation has derivative 1 at 0. Here it is 0 in both forms.
func TestTrapRectifyAtZero(t *testing.T) {
	at := func(relu func(x Expr) Expr) []float64 {
		g := New(Float64, 1)
		x := g.Root().Param("x", Const(0), 1, 3)
		x.Tensor().Set(1, -1)
		x.Tensor().Set(2, 1)
		p, err := Compile(relu(x).SumAll(), x)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		return p.Grad(x).F64
	}
	near(t, "spelled", at(Expr.ReLU), []float64{0, 0, 1}, 0)
	near(t, "kernel", at(func(x Expr) Expr { y, _ := ReLU(x); return y }), []float64{0, 0, 1}, 0)
	stock(t, at(func(x Expr) Expr { return x.Wrap(G.Rectify(x.Node())) })[0] == 0, "the rectifier")
}
