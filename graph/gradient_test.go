package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
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

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
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
			near(t, "gradient of "+x.Name(), mustRun(t, p).Grad(x).Floats(), want, 2e-8)
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
		"square": on(Expr.Square, 2, 3), "sqrt": on(Expr.Sqrt, 2, 3), "exp": on(Expr.Exp, 2, 3), "log": on(Expr.Log, 2, 3),
		"tanh": on(Expr.Tanh, 2, 3), "cube": on(Expr.Cube, 2, 3), "erf": on(Expr.Erf, 2, 3), "relu": on(Expr.ReLU, 2, 3),
		"sigmoid": on(Expr.Sigmoid, 2, 3), "softplus": on(Expr.Softplus, 2, 3),
		"sum": on(Expr.Sum, 2, 3), "mean": on(Expr.Mean, 2, 3), "sum of all": on(Expr.SumAll, 2, 3),
		"sum in 3-D": on(Expr.Sum, 2, 3, 4), "mean of one column": on(Expr.Mean, 4, 1),
		"softmax": on(Expr.Softmax, 3, 4), "softmax in 4-D": on(Expr.Softmax, 2, 1, 3, 4), "log-sum-exp": on(Expr.LogSumExp, 3, 4),
		"scale":     on(func(x Expr) Expr { return x.Scale(-0.3) }, 2, 3),
		"shift":     on(func(x Expr) Expr { return x.Shift(0.7).Log() }, 2, 3),
		"columns":   on(func(x Expr) Expr { return x.Cols(1, 3).Square() }, 2, 4),
		"reshape":   on(func(x Expr) Expr { return x.Reshape(3, 2).Square() }, 2, 3),
		"transpose": on(func(x Expr) Expr { return x.Transpose(0, 2, 1, 3).Square() }, 2, 3, 4, 5),
		"x+x":       on(func(x Expr) Expr { return x.Add(x) }, 2, 3),
		"x·x":       on(func(x Expr) Expr { return x.Mul(x) }, 2, 3),
		"add":       with(Expr.Add, []int{3, 4}, []int{3, 4}), "add row": with(Expr.Add, []int{3, 4}, []int{4}), "add column": with(Expr.Add, []int{3, 4}, []int{3, 1}),
		"sub": with(Expr.Sub, []int{3, 4}, []int{3, 4}), "sub from column": with(Expr.Sub, []int{3, 1}, []int{3, 4}),
		"mul": with(Expr.Mul, []int{3, 4}, []int{3, 4}), "mul row": with(Expr.Mul, []int{3, 4}, []int{1, 4}),
		"div": with(Expr.Div, []int{3, 4}, []int{3, 4}), "div column": with(Expr.Div, []int{3, 4}, []int{3, 1}),
		"add matrix to 4-D": with(Expr.Add, []int{2, 3, 4, 5}, []int{4, 5}),
		"add mask to 4-D":   with(Expr.Add, []int{2, 3, 4, 5}, []int{2, 1, 4, 5}),
		"matmul":            with(Expr.MatMul, []int{2, 3}, []int{3, 4}), "matmulT": with(Expr.MatMulT, []int{2, 3}, []int{4, 3}),
		"batched matmul": with(Expr.MatMul, []int{2, 3, 4, 5}, []int{2, 3, 5, 2}), "batched matmulT": with(Expr.MatMulT, []int{2, 3, 4}, []int{2, 5, 4}),
		"join": with(func(x, y Expr) Expr { return x.Join(y, x).Square() }, []int{3, 2}, []int{3, 4}),
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

// TestTiedTable: a table that is looked up and multiplied by has the gradient of the stock operations, for repeated ids
// and in both orders, and needs the memory of one table for it.
func TestTiedTable(t *testing.T) {
	const v, d, n = 501, 24, 3
	gradient := func(kernels, headFirst bool) ([]float64, int) {
		g := New(Float64, 1)
		g.Kernels = kernels
		table, ids := g.Root().Param("table", Normal(1), v, d), g.Root().Ints("ids", n, v, -1)
		x := g.Root().Value("x", Normal(1), n, d)
		copy(ids.Ints(), []int{3, 500, 3})
		rows, ok := Gather(table, ids)
		if !ok {
			rows = table.Gather(ids)
		}
		logits, ok := LinearT(x, table)
		if !ok {
			logits = x.MatMulT(table)
		}
		parts := []Expr{rows.Square().SumAll(), logits.Square().SumAll()}
		if headFirst {
			parts[0], parts[1] = parts[1], parts[0]
		}
		p, err := Compile(parts[0].Add(parts[1]), table)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
		}
		return p.Grad(table).Floats(), g.Bytes()
	}
	want, _ := gradient(false, false)
	for _, headFirst := range []bool{false, true} {
		got, bytes := gradient(true, headFirst)
		near(t, "the gradient", got, want, 1e-12)
		if most := 8 * 2 * v * d; bytes > most {
			t.Errorf("%d bytes, want less than two tables, %d", bytes, most)
		}
	}
}
