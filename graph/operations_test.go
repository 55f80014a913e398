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
	checkClose(t, "gradient of the largest", p.Grad(x).Floats(), values(t, x.ArgMax().OneHot(3)), 0)
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

// A softmax and its logarithm subtract the largest score of the row, wherever it is, because e^1000 overflows.
func TestSoftmaxShifts(t *testing.T) {
	for _, dtype := range []Dtype{Float32, Float64} {
		g := New(dtype, 1)
		x := g.Root().Value("x", Const(0), 3, 3)
		if err := x.Tensor().Fill(1000, 999, -1000, -1000, -1000, -1001, 0, 5e4, 5e4); err != nil {
			t.Fatal(err)
		}
		e := math.Exp(-1)
		checkClose(t, "softmax", mustRun(t, mustCompile(t, x.Softmax())).Value().Floats(),
			[]float64{1 / (1 + e), e / (1 + e), 0, 1 / (2 + e), 1 / (2 + e), e / (2 + e), 0, 0.5, 0.5}, 1e-6)
		checkClose(t, "log sum exp", mustRun(t, mustCompile(t, x.LogSumExp())).Value().Floats(),
			[]float64{1000 + math.Log(1+e), -1000 + math.Log(2+e), 5e4 + math.Ln2}, 1e-2)
	}
}

// The gradient of Σ x·detach(x) is detach(x), half of the gradient of Σ x².
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

// TestAnyBroadcast: for any two shapes, either the result is NumPy's, entry by entry, or the error is ours and names
// both shapes. Gorgonia's own operations stretch some shapes that lack axes and not others.
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
