package graph

import (
	"math"
	"slices"
	"strings"
	"testing"
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
			{1, 5, 2}, {7, 7, 7}, {-3, -1, -2}, {-inf, -inf, 3}, {0, inf, inf}, {nan, 1, 2}, {1, nan, 2}, {2, 1, nan}, {nan, nan, nan},
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
