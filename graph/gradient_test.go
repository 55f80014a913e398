package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// mustCompile compiles or fails the test.
func mustCompile(t *testing.T, out Expr, wrt ...Expr) *Program {
	t.Helper()
	p, err := Compile(out, wrt...)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return p
}

func mustRun(t *testing.T, p *Program) *Program {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p
}

// values runs a forward program and returns its output.
func values(t *testing.T, out Expr) []float64 {
	t.Helper()
	return mustRun(t, mustCompile(t, out)).Value().Floats()
}

func checkClose(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d entries, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tolerance*max(1, math.Abs(w))) {
			t.Errorf("%s[%d]: got %v, want %v", what, i, got[i], w)
		}
	}
}

// checkGradients compares every gradient of Σ y∘Δ with central differences, twice, so that a second run finds the
// buffers as the first left them.
func checkGradients(t *testing.T, y Expr, wrt ...Expr) {
	t.Helper()
	if err := y.Graph().Err(); err != nil {
		t.Fatal(err)
	}
	loss := y
	if shape := y.Shape(); len(shape) > 0 {
		loss = y.Mul(y.g.Root().Value("delta", Normal(1), shape...)).SumAll()
	}
	p := mustCompile(t, loss, wrt...)
	const h = 1e-5
	for range 2 {
		for _, x := range wrt {
			numbers := x.Tensor()
			want := make([]float64, numbers.Len())
			for i := range want {
				v := numbers.At(i)
				numbers.Set(i, v+h)
				up := mustRun(t, p).Loss()
				numbers.Set(i, v-h)
				want[i] = (up - mustRun(t, p).Loss()) / (2 * h)
				numbers.Set(i, v)
			}
			checkClose(t, "gradient of "+x.Name(), mustRun(t, p).Grad(x).Floats(), want, 2e-8)
		}
	}
}

func TestGradients(t *testing.T) {
	type build func(s Scope) (y Expr, wrt []Expr)
	on := func(f func(x Expr) Expr, shape ...int) build { // entries in [0.5, 2): every function is smooth there
		return func(s Scope) (Expr, []Expr) {
			x := s.Param("x", uniform(0.5, 2), shape...)
			return f(x), []Expr{x}
		}
	}
	with := func(f func(x, y Expr) Expr, a, b []int) build {
		return func(s Scope) (Expr, []Expr) {
			x, y := s.Param("x", Normal(1), a...), s.Param("y", uniform(0.5, 2), b...)
			return f(x, y), []Expr{x, y}
		}
	}
	cases := map[string]build{
		"square": on(Expr.Square, 2, 3), "sqrt": on(Expr.Sqrt, 2, 3), "exp": on(Expr.Exp, 2, 3),
		"log":  on(Expr.Log, 2, 3),
		"tanh": on(Expr.Tanh, 2, 3), "cube": on(Expr.Cube, 2, 3), "erf": on(Expr.Erf, 2, 3),
		"relu":    on(Expr.ReLU, 2, 3),
		"sigmoid": on(Expr.Sigmoid, 2, 3), "softplus": on(Expr.Softplus, 2, 3),
		"sum": on(Expr.Sum, 2, 3), "mean": on(Expr.Mean, 2, 3), "sum of all": on(Expr.SumAll, 2, 3),
		"sum in 3-D": on(Expr.Sum, 2, 3, 4), "mean of one column": on(Expr.Mean, 4, 1),
		"softmax": on(Expr.Softmax, 3, 4), "softmax in 4-D": on(Expr.Softmax, 2, 1, 3, 4),
		"log-sum-exp": on(Expr.LogSumExp, 3, 4),
		"scale":       on(func(x Expr) Expr { return x.Scale(-0.3) }, 2, 3),
		"shift":       on(func(x Expr) Expr { return x.Shift(0.7).Log() }, 2, 3),
		"columns":     on(func(x Expr) Expr { return x.Columns(1, 3).Square() }, 2, 4),
		"reshape":     on(func(x Expr) Expr { return x.Reshape(3, 2).Square() }, 2, 3),
		"transpose":   on(func(x Expr) Expr { return x.Transpose(0, 2, 1, 3).Square() }, 2, 3, 4, 5),
		"x+x":         on(func(x Expr) Expr { return x.Add(x) }, 2, 3),
		"x·x":         on(func(x Expr) Expr { return x.Mul(x) }, 2, 3),
		"add":         with(Expr.Add, []int{3, 4}, []int{3, 4}), "add row": with(Expr.Add, []int{3, 4}, []int{4}),
		"add column":        with(Expr.Add, []int{3, 4}, []int{3, 1}),
		"sub":               with(Expr.Sub, []int{3, 4}, []int{3, 4}),
		"sub from column":   with(Expr.Sub, []int{3, 1}, []int{3, 4}),
		"mul":               with(Expr.Mul, []int{3, 4}, []int{3, 4}),
		"mul row":           with(Expr.Mul, []int{3, 4}, []int{1, 4}),
		"div":               with(Expr.Div, []int{3, 4}, []int{3, 4}),
		"div column":        with(Expr.Div, []int{3, 4}, []int{3, 1}),
		"add matrix to 4-D": with(Expr.Add, []int{2, 3, 4, 5}, []int{4, 5}),
		"add mask to 4-D":   with(Expr.Add, []int{2, 3, 4, 5}, []int{2, 1, 4, 5}),
		"matmul":            with(Expr.MatMul, []int{2, 3}, []int{3, 4}),
		"matmulT":           with(Expr.MatMulT, []int{2, 3}, []int{4, 3}),
		"batched matmul":    with(Expr.MatMul, []int{2, 3, 4, 5}, []int{2, 3, 5, 2}),
		"batched matmulT":   with(Expr.MatMulT, []int{2, 3, 4}, []int{2, 5, 4}),
		"join":              with(func(x, y Expr) Expr { return x.Join(y, x).Square() }, []int{3, 2}, []int{3, 4}),
		"rows": func(s Scope) (Expr, []Expr) {
			x, ids := s.Param("x", Normal(1), 4, 3), s.Ints("ids", 5, 4, -1)
			copy(ids.Ints(), []int{3, 1, 3, 0, 3}) // 3 adds up, 2 is never looked up
			return x.Gather(ids), []Expr{x}
		},
	}
	for name, build := range cases {
		for _, kernels := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/kernels=%t", name, kernels), func(t *testing.T) {
				g := New(Float64, 3)
				g.Kernels = kernels
				y, wrt := build(g.Root())
				checkGradients(t, y, wrt...)
			})
		}
	}
}

// uniform draws from [low, high).
func uniform(low, high float64) Init {
	return func(_ int, rng *rand.Rand) float64 { return low + (high-low)*rng.Float64() }
}

// product3 is x∘y∘z with its gradients.
func product3[T float32 | float64]() Pass[T] {
	return Pass[T]{
		func(y []T, x [][]T) {
			for i := range y {
				y[i] += x[0][i] * x[1][i] * x[2][i]
			}
		},
		func(dx [][]T, dy, _ []T, x [][]T) {
			for i := range dy {
				dx[0][i] += dy[i] * x[1][i] * x[2][i]
				dx[1][i] += dy[i] * x[0][i] * x[2][i]
				dx[2][i] += dy[i] * x[0][i] * x[1][i]
			}
		},
	}
}

// Operations in plain Go have the derivatives that they state, also if a program wants some of them only.
func TestOpsInGo(t *testing.T) {
	own := Op{"product", []int{6, 3}, product3[float32](), product3[float64](), 0}
	parts := own
	parts.Part = 3
	for name, op := range map[string]func(x, y, z Expr) Expr{
		"own":     func(x, y, z Expr) Expr { return x.Apply(own, y, z) },
		"parts":   func(x, y, z Expr) Expr { return x.Apply(parts, y, z) },
		"cumsum":  func(x, _, _ Expr) Expr { return x.CumSum(3) },
		"cumprod": func(x, _, _ Expr) Expr { return x.CumProd(3) },
		"where":   func(x, y, z Expr) Expr { return x.Where(z.ReLU().Detach(), y) },
		"top k":   func(x, _, _ Expr) Expr { return x.TopK(2) },
		"rows":    func(x, y, _ Expr) Expr { return x.MatMulT(y.Rows(4, 6)).MatMul(x.Rows(1, 3)) },
		"delay":   func(x, _, _ Expr) Expr { return x.Delay(2, 3) },
		"scan":    func(x, y, _ Expr) Expr { return x.Scan(y.Tanh(), 3) },
		"max":     func(x, y, _ Expr) Expr { return x.Max(y) },
		"min":     func(x, y, _ Expr) Expr { return x.Min(y) },
		"abs":     func(x, _, _ Expr) Expr { return x.Abs() },
		"pow":     func(x, _, _ Expr) Expr { return x.Square().Shift(1).Pow(-0.5) },
		"sin":     func(x, _, _ Expr) Expr { return x.Sin().Mul(x.Cos()) },
		"clamp":   func(x, _, _ Expr) Expr { return x.Clamp(-0.5, 0.25).Mul(x) },
	} {
		for i := range 4 {
			g := New(Float64, 1)
			s := g.Root()
			x, y, z := s.Param("x", Normal(1), 6, 3), s.Param("y", Normal(1), 6, 3), s.Param("z", Normal(1), 6, 3)
			if i%2 == 1 {
				g.Recompute("own")
			}
			wrt := []Expr{x, y, z}
			if i > 1 {
				wrt = []Expr{y}
			}
			result := op(x.In(s.Sub("own")), y, z).In(s).Mul(x).Add(y.Mul(z))
			t.Run(name, func(t *testing.T) { checkGradients(t, result, wrt...) })
		}
	}
	x := New(Float64, 1).Root().Param("x", Const(1), 4, 1)
	for i := range 4 {
		x.Tensor().Set(i, float64(i+1))
	}
	checkClose(t, "cumsum", values(t, x.CumSum(2)), []float64{1, 3, 3, 7}, 0)
	checkClose(t, "cumprod", values(t, x.CumProd(2)), []float64{1, 2, 3, 12}, 0)
	checkClose(t, "rows", values(t, x.Rows(1, 3)), []float64{2, 3}, 0)
	checkClose(t, "delay", values(t, x.Delay(1, 2)), []float64{0, 1, 0, 3}, 0)
	checkClose(t, "delay by all", values(t, x.Delay(4, 4)), []float64{0, 0, 0, 0}, 0)
	checkClose(t, "scan", values(t, x.Scan(x, 4)), []float64{1, 4, 15, 64}, 0)
}

// Threads share the parts of operations in Go, and give the bits of one thread, and of a pass over all entries.
func TestOpsInGoShared(t *testing.T) {
	const length, rows, d = 50, 300, 40
	calls := atomic.Int64{}
	counted := product3[float32]()
	forward := counted.Forward
	counted.Forward = func(y []float32, x [][]float32) {
		if calls.Add(1); len(y)%d != 0 || len(x) != 3 || len(x[2]) != len(y) {
			panic("no entire rows")
		}
		forward(y, x)
	}
	var want []float64
	for _, c := range []struct{ threads, part int }{{1, 0}, {1, d}, {3, d}} {
		g := New(Float32, 1)
		g.SetThreads(c.threads)
		s := g.Root()
		x, y, z := s.Param("x", Normal(1), rows, d), s.Param("y", Normal(1), rows, d), s.Param("z", Normal(1), rows, d)
		all := x.CumSum(length).TopK(7).Where(y, z.CumProd(length)).Max(z.Abs()).Scan(y.Sin(), length).Delay(3, length)
		all = all.Apply(Op{Name: "own", Shape: []int{rows, d}, Float32: counted, Part: c.part}, y, z)
		p, err := Compile(all.SumAll(), x, y, z)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		got := []float64{p.Loss()}
		for _, v := range []Expr{x, y, z} {
			got = append(got, p.Grad(v).Floats()...)
		}
		if want == nil {
			want = got
		}
		if !slices.EqualFunc(got, want, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
			t.Errorf("%+v gives other bits", c)
		}
	}
	if calls.Load() < 4 {
		t.Errorf("got %d calls in two runs, want several in each", calls.Load())
	}
}

// Products have the gradient of their equation where factors are 0. What is not taken does not matter, and of equal
// entries the earlier ones are the largest.
func TestOpsInGoAtTheEnds(t *testing.T) {
	tensor := func(g *Graph, name string, rows, cols int, numbers ...float64) Expr {
		x := g.Root().Param(name, Const(1), rows, cols)
		for i, v := range numbers {
			x.Tensor().Set(i, v)
		}
		return x
	}
	g := New(Float64, 1)
	x := tensor(g, "x", 4, 1, 2, 0, 3, 0)
	p, err := Compile(x.CumProd(4).SumAll(), x)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if got, want := p.Grad(x).Floats(), []float64{1, 8, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("cumprod: got the gradient %v, want %v", got, want)
	}
	inf, nan := math.Inf(1), math.NaN()
	a := tensor(g, "a", 1, 4, 1, nan, -inf, 4)
	mask, b := tensor(g, "mask", 1, 4, -1, 0, 0, nan), tensor(g, "b", 1, 4, inf, 6, 7, nan)
	checkClose(t, "where", values(t, a.Where(mask, b)), []float64{1, 6, 7, 4}, 0)
	ties := tensor(g, "ties", 2, 4, 1, 2, 2, 2, -3, -inf, -2, -2)
	checkClose(t, "top 2", values(t, ties.TopK(2)), []float64{0, 2, 2, 0, 0, 0, -2, -2}, 0)
	checkClose(t, "top 4", values(t, ties.Rows(0, 1).TopK(4)), []float64{1, 2, 2, 2}, 0)
	if got := values(t, a.TopK(1)); !math.IsNaN(got[1]) || got[3] != 0 {
		t.Errorf("top 1: got %v, want NaN in column 1, and 0 elsewhere", got)
	}
}

// An operation in Go that does not fit its graph is an error with its name.
func TestOpsInGoRefused(t *testing.T) {
	for want, wrong := range map[string]func(x Expr) Expr{
		"no Forward": func(x Expr) Expr { return x.Apply(Op{Name: "own", Shape: []int{2}}) },
		"positive sizes": func(x Expr) Expr {
			return x.Apply(
				Op{Name: "own", Shape: []int{0}, Float64: product3[float64]()},
			)
		},
		"got integers": func(x Expr) Expr {
			return x.Apply(
				Op{Name: "own", Shape: []int{4}, Float64: product3[float64]()},
				x.Graph().Root().Ints("ids", 4, 3, NoneIgnored),
			)
		},
		"got parts of 3 entries, want a divisor of the 8": func(x Expr) Expr {
			return x.Apply(Op{Name: "own", Shape: []int{4, 2}, Float64: product3[float64](), Part: 3}, x, x)
		},
		"operand 1: got shape (4, 1), want the result's, (4, 2)": func(x Expr) Expr {
			return x.Apply(Op{Name: "own", Shape: []int{4, 2}, Float64: product3[float64](), Part: 2}, x.Columns(0, 1))
		},
		"entire sequences":     func(x Expr) Expr { return x.CumSum(3) },
		"want 0 to":            func(x Expr) Expr { return x.Delay(-1, 2) },
		"of shape (4, 2)":      func(x Expr) Expr { return x.Scan(x.Columns(0, 1), 2) },
		"rows 2 to 2":          func(x Expr) Expr { return x.Rows(2, 2) },
		"rows 0 to 5":          func(x Expr) Expr { return x.Rows(0, 5) },
		"got the 0 largest":    func(x Expr) Expr { return x.TopK(0) },
		"got the 3 largest":    func(x Expr) Expr { return x.TopK(3) },
		"want floating-point":  func(x Expr) Expr { return x.Where(x, x.Columns(0, 1)) },
		"want an interval":     func(x Expr) Expr { return x.Clamp(2, math.NaN()) },
		"numbers of one shape": func(x Expr) Expr { return x.Max(x.Columns(0, 1)) },
		"runtime error": func(x Expr) Expr {
			return x.Apply(
				Op{Name: "own", Shape: []int{4, 2}, Float64: product3[float64]()},
			)
		},
		"has no derivative": func(x Expr) Expr {
			return x.Apply(
				Op{Name: "own", Shape: []int{4, 2}, Float64: Pass[float64]{Forward: product3[float64]().Forward}}, x, x,
			)
		},
	} {
		x := New(Float64, 1).Root().Param("x", Const(1), 4, 2)
		y := wrong(x)
		err := y.Graph().Err()
		var p *Program
		if err == nil {
			p, err = Compile(y.SumAll(), x)
		}
		if err == nil {
			err = p.Run()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
