package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// argMaxOf returns the ids of rows of numbers, and the same ids as Value returns them.
func argMaxOf(t *testing.T, dtype Dtype, rows [][]float64) (ids []int, value []float64) {
	t.Helper()
	g := New(dtype, 1)
	x := g.Root().Value("x", Const(0), len(rows), len(rows[0]))
	for i, row := range rows {
		for j, v := range row {
			x.Tensor().Row(i).Set(j, v)
		}
	}
	y := x.ArgMax()
	return y.Ints(), values(t, y)
}

// ArgMax returns the first of equal largest entries, whatever the other entries are.
func TestArgMax(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, dtype := range []Dtype{Float32, Float64} {
		ids, value := argMaxOf(t, dtype, [][]float64{
			{1, 5, 2}, {7, 7, 7}, {-3, -1, -2}, {-inf, -inf, 3}, {0, inf, inf}, {nan, 1, 2}, {1, nan, 2}, {2, 1, nan},
			{nan, nan, nan},
		})
		if want := []int{1, 0, 1, 2, 1, 2, 2, 0, 0}; !slices.Equal(ids, want) {
			t.Errorf("%v: got %v, want %v", dtype, ids, want)
		}
		for i, v := range value {
			if v != float64(ids[i]) {
				t.Errorf("%v: the value of row %d is %v, its id %d", dtype, i, v, ids[i])
			}
		}
	}
}

// Computed ids work like fed ids: for gathering rows, one-hot matrices and losses, in both forms, in every run, and
// also if they are recomputed to save memory.
func TestArgMaxIsIds(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		for _, recompute := range []bool{false, true} {
			g := New(Float64, 1)
			g.Kernels = kernels
			s := g.Root()
			x, table := s.Value("x", Const(0), 2, 3), s.Param("table", Normal(1), 3, 4)
			ids := x.In(s.Sub("best")).ArgMax().In(s)
			if recompute {
				g.Recompute("best")
			}
			y := table.Gather(ids)
			if z, ok := Gather(table, ids); ok {
				y = y.Add(z).Scale(0.5)
			}
			right := s.Ints("right", 2, 3, -1)
			right.Ints()[0] = 1
			hits := ids.OneHot(3).Mul(right.OneHot(3)).SumAll()
			p, accuracy := mustCompile(t, y.SumAll(), table), mustCompile(t, hits)
			for _, largest := range [][]int{{1, 2}, {0, 0}, {1, 0}} {
				for i := range 6 {
					x.Tensor().Set(i, 0)
				}
				want, hit := make([]float64, 12), 0.0
				for i, c := range largest {
					x.Tensor().Row(i).Set(c, 1)
					for j := range 4 {
						want[c*4+j]++
					}
					if c == right.Ints()[i] {
						hit++
					}
				}
				near(t, "the table's gradient", mustRun(t, p).Grad(table).Floats(), want, 0)
				near(t, "right", []float64{mustRun(t, accuracy).Loss()}, []float64{hit}, 0)
				if !slices.Equal(ids.Ints(), largest) {
					t.Errorf("got %v, want %v", ids.Ints(), largest)
				}
			}
		}
	}
}

// The index of the largest entry has no derivative: asking for one is an error, and in a sum with another path it is a
// constant.
func TestArgMaxHasNoDerivative(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Normal(1), 2, 3)
	if _, err := Compile(x.ArgMax().OneHot(3).SumAll(), x); err == nil ||
		!strings.Contains(err.Error(), "x: the loss does not depend on it") {
		t.Errorf("got %v, want an error that names x", err)
	}
	g = New(Float64, 1)
	x = g.Root().Param("x", Normal(1), 2, 3)
	if _, err := Compile(x.ArgMax().Scale(2).SumAll(), x); err == nil ||
		!strings.Contains(err.Error(), "x: the loss does not depend on it") {
		t.Errorf("of its numbers: got %v, want an error that names x", err)
	}
	g = New(Float64, 1)
	x = g.Root().Param("x", Normal(1), 2, 3)
	largest := x.Mul(x.ArgMax().OneHot(3)).SumAll()
	p := mustRun(t, mustCompile(t, largest, x))
	near(t, "gradient of the largest", p.Grad(x).Floats(), values(t, x.ArgMax().OneHot(3)), 0)
}

// On an outline the result has a shape and no numbers, and its memory is planned.
func TestArgMaxOfAnOutline(t *testing.T) {
	build := func(g *Graph) Expr { return g.Root().Value("x", Const(0), 5, 3).ArgMax().OneHot(3).SumAll() }
	g := New(Float32, 1)
	p := mustCompile(t, build(g))
	planned, err := PlanBytes(build(Outline(Float32)))
	if want := float64(g.Bytes() + 4*15 + 8*5); err != nil || planned != want || p == nil {
		t.Errorf("planned %v bytes and %v, want %v", planned, err, want)
	}
	ids := Outline(Float32).Root().Value("x", Const(0), 1<<37, 3).ArgMax() // more than any machine can hold
	if err := ids.Graph().Err(); err != nil || ids.Ints() != nil || !slices.Equal(ids.Shape(), []int{1 << 37}) {
		t.Errorf("got %v, %d ids of shape %v", err, len(ids.Ints()), ids.Shape())
	}
	g = New(Float32, 1)
	x := g.Root().Value("x", Const(0), 5, 3)
	g.SetMemoryLimit(70)
	if x.ArgMax(); g.Err() == nil || !strings.Contains(g.Err().Error(), "memory") {
		t.Errorf("beyond the limit: got %v", g.Err())
	}
}

// Sigmoid, SiLU and softplus, value and derivative, are right where e^x overflows and where it is less than the last
// place of 1: in both types, as equations and as kernels.
func TestLogisticFarFromZero(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	numbers := []float64{-1000, -100, -20, -1, 0, 1, 20, 100, 1000}
	for name, c := range map[string]struct {
		kernel       func(x Expr) (Expr, bool)
		plain        func(x Expr) Expr
		value, slope func(x float64) float64
	}{
		"sigmoid": {Sigmoid, Expr.Sigmoid, sigmoid, func(x float64) float64 { return sigmoid(x) * sigmoid(-x) }},
		"silu": {SiLU, func(x Expr) Expr { return x.Mul(x.Sigmoid()) },
			func(x float64) float64 { return x * sigmoid(x) },
			func(x float64) float64 { return sigmoid(x) * (1 + x*sigmoid(-x)) }},
		"softplus": {Softplus, Expr.Softplus, func(x float64) float64 {
			return max(x, 0) +
				math.Log1p(math.Exp(-math.Abs(x)))
		}, sigmoid},
	} {
		for dtype, tolerance := range map[Dtype]float64{Float64: 1e-14, Float32: 2e-7} {
			for _, kernels := range []bool{false, true} {
				g := New(dtype, 1)
				g.Kernels = kernels
				x := g.Root().Param("x", Const(0), 1, len(numbers))
				var want, slopes []float64
				for i, v := range numbers {
					x.Tensor().Set(i, v)
					want, slopes = append(want, c.value(v)), append(slopes, c.slope(v))
				}
				y, ok := c.kernel(x)
				if ok != kernels {
					t.Fatal(g.Err())
				}
				if !ok {
					y = c.plain(x)
				}
				what := fmt.Sprintf("%s, %v, kernels %t", name, dtype, kernels)
				near(t, what, values(t, y), want, tolerance)
				near(
					t, what+", derivative", mustRun(t, mustCompile(t, y.SumAll(), x)).Grad(x).Floats(), slopes,
					tolerance,
				)
			}
		}
	}
}

// A softmax and its logarithm subtract the largest score of the row, wherever it is, because e^1000 overflows.
func TestSoftmaxShifts(t *testing.T) {
	for _, dtype := range []Dtype{Float32, Float64} {
		g := New(dtype, 1)
		x := g.Root().Value("x", Const(0), 3, 3)
		if err := x.Tensor().Fill(1000, 999, -1000, -1000, -1000, -1001, 0, 5e4, 5e4); err != nil {
			t.Fatal(err)
		}
		e := math.Exp(-1)
		near(t, "softmax", mustRun(t, mustCompile(t, x.Softmax())).Value().Floats(),
			[]float64{1 / (1 + e), e / (1 + e), 0, 1 / (2 + e), 1 / (2 + e), e / (2 + e), 0, 0.5, 0.5}, 1e-6)
		near(t, "log sum exp", mustRun(t, mustCompile(t, x.LogSumExp())).Value().Floats(),
			[]float64{1000 + math.Log(1+e), -1000 + math.Log(2+e), 5e4 + math.Ln2}, 1e-2)
	}
}

// The gradient of Σ x·detach(x) is detach(x), half of that of Σ x².
func TestDetach(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		g := New(Float64, 1)
		g.Kernels = kernels
		x := g.Root().Param("x", Normal(1), 2, 3)
		p, err := Compile(x.Mul(x.Detach()).SumAll(), x)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		var squares float64
		for i, v := range x.Tensor().F64 {
			squares += v * v
			if got := p.Grad(x).F64[i]; got != v {
				t.Errorf("kernels %t: gradient %v at %v", kernels, got, v)
			}
		}
		if d := p.Loss() - squares; !(d <= 1e-15 && d >= -1e-15) {
			t.Errorf("kernels %t: %v, want %v", kernels, p.Loss(), squares)
		}
	}
}

// TestAnyBroadcast: for any two shapes, either the result is that of NumPy, entry by entry, or the error is ours and
// names both shapes. Gorgonia's own operations stretch some shapes that lack axes and not others.
func TestAnyBroadcast(t *testing.T) {
	shapes := func(full ...int) (list [][]int) {
		for from := range full {
			axes := full[from:]
			for ones := range 1 << len(axes) {
				shape := slices.Clone(axes)
				for i := range shape {
					if ones>>i&1 > 0 {
						shape[i] = 1
					}
				}
				list = append(list, shape)
			}
		}
		return list
	}
	right := 0
	for _, full := range [][]int{{2, 3, 4}, {3, 3, 3}} {
		for _, a := range shapes(full...) {
			for _, b := range shapes(full...) {
				if broadcasts(t, a, b) {
					right++
				}
			}
		}
	}
	for _, b := range shapes(2, 3, 4)[:8] { // all shapes with the same number of axes stretch
		if !broadcasts(t, []int{2, 3, 4}, b) || !broadcasts(t, b, []int{2, 3, 4}) {
			t.Errorf("%v does not broadcast", b)
		}
	}
	if right < 200 {
		t.Errorf("%d pairs of shapes broadcast, want 200 or more", right)
	}
}

// broadcasts reports whether x − y has a value, and compares that value.
func broadcasts(t *testing.T, a, b []int) bool {
	t.Helper()
	g := New(Float64, 1)
	x, y := g.Root().Value("x", Normal(1), a...), g.Root().Value("y", Normal(1), b...)
	z := x.Sub(y)
	if err := g.Err(); err != nil {
		want := fmt.Sprintf("sub x %v, y %v: shapes differ and do not broadcast", tensor.Shape(a), tensor.Shape(b))
		if err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		return false
	}
	shape, got := z.Shape(), values(t, z)
	at := func(e Expr, entry int) float64 {
		of, i, step := e.Shape(), 0, 1
		for axis := len(shape) - 1; axis >= 0; axis-- {
			if k := axis - len(shape) + len(of); k >= 0 {
				i += entry % shape[axis] % of[k] * step
				step *= of[k]
			}
			entry /= shape[axis]
		}
		return e.Tensor().At(i)
	}
	for i := range got {
		if want := at(x, i) - at(y, i); got[i] != want {
			t.Fatalf("%v − %v = %v: entry %d is %v, want %v", a, b, shape, i, got[i], want)
		}
	}
	return true
}

// Integers are added, scaled, divided and delayed exactly, where numbers of the graph's type would round, in every run
// and on an Outline.
func TestIntegers(t *testing.T) {
	const large = 1<<55 + 1
	for _, dtype := range []Dtype{Float32, Float64} {
		s := New(dtype, 1).Root()
		a, b := s.Ints("a", 6, large+6, NoneIgnored), s.Ints("b", 6, 9, NoneIgnored)
		cases := []struct {
			got   Expr
			want  []int
			limit int
		}{
			{a.AddInts(b), []int{large + 1, large + 2, large + 3, large + 7, large + 9, large + 10}, large + 14},
			{
				a.ScaleInts(3), []int{3 * large, 3*large + 3, 3*large + 6, 3*large + 9, 3*large + 12, 3*large + 15},
				3*(large+5) + 1,
			},
			{a.ScaleInts(0), make([]int, 6), 1},
			{a.ModInts(10), []int{9, 0, 1, 2, 3, 4}, 10},
			{a.DelayInts(2, 3, 7), []int{7, 7, large, 7, 7, large + 3}, large + 6},
			{b.DelayInts(1, 6, large), []int{large, 1, 1, 1, 4, 5}, large + 1},
			{b.DelayInts(0, 2, 0), []int{1, 1, 1, 4, 5, 5}, 9},
			{b.DelayInts(3, 3, 0), make([]int, 6), 9},
			{CachedDelayInts(b, s.Ints("at", 1, 9, -1), 8, NewConvCache(2, 1, 2)), []int{8, 1, 1, 8, 4, 5}, 9},
		}
		sum := s.Value("zero", Const(0), 1, 1).SumAll()
		for _, c := range cases {
			sum = sum.Add(c.got.ModInts(11).OneHot(11).SumAll())
		}
		p := mustCompile(t, sum)
		for range 2 {
			for i := range 6 {
				a.Ints()[i], b.Ints()[i] = large+i, []int{1, 1, 1, 4, 5, 5}[i]
			}
			if mustRun(t, p); p.Loss() != float64(6*len(cases)) {
				t.Errorf("%v: got %v ids, want %d", dtype, p.Loss(), 6*len(cases))
			}
			for i, c := range cases {
				if !slices.Equal(c.got.Ints(), c.want) || c.got.ids.limit != c.limit {
					t.Errorf(
						"%v, %d: got %v below %d, want %v below %d", dtype, i, c.got.Ints(), c.got.ids.limit, c.want,
						c.limit,
					)
				}
			}
			clear(a.Ints())
			clear(b.Ints())
			mustRun(t, p)
		}
	}
	o := Outline(Float32).Root()
	if y := o.Ints("ids", 6, 9, NoneIgnored); !slices.Equal(
		y.AddInts(y.DelayInts(1, 3, 0).ScaleInts(5)).ModInts(4).Shape(), []int{6},
	) || o.Graph().Err() != nil {
		t.Error(o.Graph().Err())
	}
}

// What could overflow, and what is no list of ids, is an error; an ignored id fails when it runs.
func TestIntegersRefuse(t *testing.T) {
	ids := func(s Scope) Expr { return s.Ints("ids", 6, 1<<40, NoneIgnored) }
	narrow, wide := func() *ConvCache { return NewConvCache(2, 1, 3) }, NewConvCache(2, 4, 3)
	at := func(s Scope) Expr { return s.Ints("at", 1, 9, -1) }
	x := func(s Scope) Expr { return s.Value("x", Const(1), 6, 4) }
	for want, of := range map[string]func(s Scope) Expr{
		"the sum of ids up to 1099511627775 and 9223372036854775806 overflows": func(s Scope) Expr {
			return ids(s).AddInts(s.Ints("b", 6, math.MaxInt, NoneIgnored))
		},
		"got 6 and 5 integers": func(s Scope) Expr { return ids(s).AddInts(s.Ints("b", 5, 9, NoneIgnored)) },
		"got a factor of 16777216, want 0 to 8388608 for ids up to 1099511627775": func(s Scope) Expr {
			return ids(s).ScaleInts(1 << 24)
		},
		"got a factor of -1":                                 func(s Scope) Expr { return ids(s).ScaleInts(-1) },
		"got 0, want a divisor of at least 1":                func(s Scope) Expr { return ids(s).ModInts(0) },
		"got 6 ids in sequences of 4":                        func(s Scope) Expr { return ids(s).DelayInts(1, 4, 0) },
		"got 6 ids in sequences of 0":                        func(s Scope) Expr { return ids(s).DelayInts(1, 0, 0) },
		"got 4 steps, want 0 to the length of a sequence, 3": func(s Scope) Expr { return ids(s).DelayInts(4, 3, 0) },
		"got -1 steps":                                       func(s Scope) Expr { return ids(s).DelayInts(-1, 3, 0) },
		"got -1 for the tokens before":                       func(s Scope) Expr { return ids(s).DelayInts(1, 3, -1) },
		"got -2 for the tokens before": func(s Scope) Expr {
			return CachedDelayInts(ids(s), at(s), -2, narrow())
		},
		"got ids up to 9007199254740992": func(s Scope) Expr {
			return CachedDelayInts(ids(s), at(s), 1<<53, narrow())
		},
		"got a cache of 4 columns, want 1": func(s Scope) Expr { return CachedDelayInts(ids(s), at(s), 0, wide) },
		"no cache to continue from":        func(s Scope) Expr { return CachedDelayInts(ids(s), at(s), 0, nil) },
		"got 6 tokens, want the same": func(s Scope) Expr {
			return CachedDelay(x(s), at(s), NewConvCache(4, 4, 2))
		},
		"got (6, 4), want a matrix":  func(s Scope) Expr { return CachedDelay(x(s), at(s), narrow()) },
		"x (6, 4), at (1): no cache": func(s Scope) Expr { return CachedDelay(x(s), at(s), nil) },
		"got 3 positions, want 1": func(s Scope) Expr {
			return CachedDelay(x(s), s.Ints("at", 3, 9, -1), wide)
		},
		"want integers declared by Ints":  func(s Scope) Expr { return x(s).ScaleInts(1) },
		"x (6, 4): want integers":         func(s Scope) Expr { return ids(s).AddInts(x(s)) },
		"x (6, 4), at (1): want integers": func(s Scope) Expr { return CachedDelayInts(x(s), at(s), 0, narrow()) },
		"a row is looked up for every id": func(s Scope) Expr {
			return s.Ints("ids", 6, 4, -2).Advance(1, 3).ModInts(2)
		},
	} {
		s := New(Float64, 1).Root()
		of(s)
		if err := s.Graph().Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s := New(Float64, 1).Root()
	a, b := s.Ints("a", 2, 4, -2), s.Ints("b", 2, 4, -2)
	p := mustCompile(t, a.AddInts(b).OneHot(8).SumAll())
	for _, list := range []Expr{a, b} {
		list.Ints()[1] = -2
		if err := p.Run(); err == nil || !strings.Contains(err.Error(), "is -2, not in 0 … 3") {
			t.Errorf("got %v, want an error of an ignored id", err)
		}
		list.Ints()[1] = 0
	}
}

// Advance moves ids to earlier places of their sequences, in both forms and in every run; the last of a sequence are
// ignored. No row can be looked up for them.
func TestAdvance(t *testing.T) {
	for _, dtype := range []Dtype{Float32, Float64} {
		for steps, want := range [][]int{
			{3, -2, 1, 0, 2, 3}, {-2, 1, -2, 2, 3, -2}, {1, -2, -2, 3, -2, -2}, {-2, -2, -2, -2, -2, -2},
		} {
			s := New(dtype, 1).Root()
			ids := s.Ints("ids", 6, 4, -2)
			ahead := ids.Advance(steps, 3)
			p, err := Compile(ahead.OneHot(4).Mul(s.Value("x", Const(1), 6, 4)).SumAll())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				copy(ids.Ints(), []int{3, -2, 1, 0, 2, 3})
				kept := 0.0
				for _, id := range want {
					if id >= 0 {
						kept++
					}
				}
				if mustRun(t, p); !slices.Equal(ahead.Ints(), want) || p.Loss() != kept {
					t.Errorf("%d steps: got %v of which %v count, want %v", steps, ahead.Ints(), p.Loss(), want)
				}
				clear(ids.Ints())
				mustRun(t, p)
			}
		}
	}
	for want, of := range map[string]func(s Scope) Expr{
		"4 steps, want 0 to the length of a sequence, 3": func(s Scope) Expr {
			return s.Ints("ids", 6, 4, -2).Advance(4, 3)
		},
		"-1 steps, want 0 to":            func(s Scope) Expr { return s.Ints("ids", 6, 4, -2).Advance(-1, 3) },
		"6 ids in sequences of 4":        func(s Scope) Expr { return s.Ints("ids", 6, 4, -2).Advance(1, 4) },
		"6 ids in sequences of 0":        func(s Scope) Expr { return s.Ints("ids", 6, 4, -2).Advance(1, 0) },
		"none may be ignored":            func(s Scope) Expr { return s.Ints("ids", 6, 4, NoneIgnored).Advance(1, 3) },
		"want integers declared by Ints": func(s Scope) Expr { return s.Value("x", Const(1), 6, 4).Advance(1, 3) },
		"Advance ignores some": func(s Scope) Expr {
			return s.Value("x", Const(1), 4, 2).Gather(s.Ints("ids", 6, 4, -2).Advance(1, 3))
		},
	} {
		s := New(Float64, 1).Root()
		of(s)
		if err := s.Graph().Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
