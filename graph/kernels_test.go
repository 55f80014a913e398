package graph_test

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
)

// TestTiedTable: a table that is looked up and multiplied by has the gradient of the stock operations, for repeated ids
// and in both orders, and needs the memory of one table for it.
func TestTiedTable(t *testing.T) {
	const v, d, n = 501, 24, 3
	gradient := func(kernels, headFirst bool) ([]float64, int) {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		table, ids := g.Root().Param("table", graph.Normal(1), v, d), g.Root().Ints("ids", n, v, -1)
		x := g.Root().Value("x", graph.Normal(1), n, d)
		copy(ids.Ints(), []int{3, 500, 3})
		rows, ok := fused.Gather(table, ids)
		if !ok {
			rows = table.Gather(ids)
		}
		logits, ok := fused.LinearT(x, table)
		if !ok {
			logits = x.MatMulT(table)
		}
		parts := []graph.Expr{rows.Square().SumAll(), logits.Square().SumAll()}
		if headFirst {
			parts[0], parts[1] = parts[1], parts[0]
		}
		p, err := graph.Compile(parts[0].Add(parts[1]), table)
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
		graphtest.Close(t, "the gradient", got, want, 1e-12)
		if most := 8 * 2 * v * d; bytes > most {
			t.Errorf("%d bytes, want less than two tables, %d", bytes, most)
		}
	}
}

// The gradient of a frozen weight takes no memory.
func TestFrozenWeightsTakeNoMemory(t *testing.T) {
	for name, build := range map[string]func(x, w, v graph.Expr) (graph.Expr, bool){
		"norm":  func(x, w, v graph.Expr) (graph.Expr, bool) { return fused.LayerNorm(x, w, graph.Expr{}, 0.1) },
		"elman": func(x, w, v graph.Expr) (graph.Expr, bool) { return fused.Elman(x, v, 1) },
	} {
		bytes := func(all bool) int {
			g := graph.New(graph.Float64, 1)
			x, w := g.Root().Param("x", graph.Normal(1), 2, 96), g.Root().Param("w", graph.Normal(1), 96)
			v := g.Root().Param("v", graph.Normal(1), 96, 96)
			y, _ := build(x, w, v)
			wrt := []graph.Expr{x}
			if all {
				wrt = append(wrt, map[string]graph.Expr{"norm": w, "elman": v}[name])
			}
			graphtest.Compile(t, y.SumAll(), wrt...)
			return g.Bytes()
		}
		if frozen, all := bytes(false), bytes(true); frozen >= all {
			t.Errorf("%s: %d bytes where the weight is frozen, %d where not", name, frozen, all)
		}
	}
}

// Spell selects the equation of a scope, but not those inside it or next to it.
func TestSpell(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	g.Spell("h.0")
	for path, want := range map[string]bool{"h.0": false, "h.0.mlp": true, "h.1": true, "": true} {
		for _, g := range []*graph.Graph{g, g.Sibling()} {
			x := g.Root().Sub("x").Param("of "+path, graph.Const(1), 2, 2)
			if _, ok := fused.ReLU(x.In(g.Root().Sub("%s", path))); ok != want {
				t.Errorf("%q: a kernel %v, want %v", path, ok, want)
			}
		}
	}
}

// TestFreezing: a parameter that is not listed has no gradient, and the gradients of the others do not change.
func TestFreezing(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		build := func() (x, w, loss graph.Expr) {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			x, w = g.Root().Param("x", graph.Normal(1), 3, 4), g.Root().Param("w", graph.Normal(1), 4, 2)
			y, ok := fused.Linear(x, w, graph.Expr{})
			if !ok {
				y = x.MatMul(w)
			}
			return x, w, y.Tanh().SumAll()
		}
		x, w, loss := build()
		both := graphtest.Run(t, graphtest.Compile(t, loss, x, w))
		fx, fw, floss := build()
		one := graphtest.Run(t, graphtest.Compile(t, floss, fw))
		graphtest.Close(t, "gradient of w", one.Grad(fw).Floats(), both.Grad(w).Floats(), 0)
		if got := one.Grad(fx); got.Len() != 0 {
			t.Errorf("the frozen x has the gradient %v", got)
		}
		if both.Grad(x).Len() != 12 {
			t.Errorf("x has a gradient of %d entries", both.Grad(x).Len())
		}
	}
}

// TestForwardAndGradientPrograms: a graph may have any number of forward programs, compiled before and after.
func TestForwardAndGradientPrograms(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		x := g.Root().Param("x", graph.Normal(1), 3, 4)
		h := x.Tanh()
		if y, ok := fused.GELU(x); ok {
			h = y
		}
		loss := h.Square().SumAll()
		before := graphtest.Compile(t, h)
		grad := graphtest.Compile(t, loss, x)
		after := graphtest.Compile(t, loss)
		for _, v := range []float64{0.3, -1.1} {
			x.Tensor().Set(5, v)
			want := math.Pow(math.Tanh(v), 2)
			if kernels {
				want = math.Pow(v*math.Erfc(-v/math.Sqrt2)/2, 2)
			}
			graphtest.Run(t, grad)
			first := grad.Grad(x).Clone()
			h := graphtest.Run(t, before).Value().At(5)
			graphtest.Close(t, "h²", []float64{math.Pow(h, 2)}, []float64{want}, 1e-14)
			graphtest.Close(t, "loss", []float64{graphtest.Run(t, after).Loss()}, []float64{grad.Loss()}, 0)
			graphtest.Run(t, grad)
			graphtest.Close(t, "gradient", grad.Grad(x).Floats(), first.Floats(), 0)
		}
	}
}

// The gradient of an operand has the operand's shape, even if others have the same number of entries.
func TestShapeOfErrors(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	x, y := g.Root().Param("x", graph.Normal(1), 5, 1), g.Root().Value("y", graph.Normal(1), 1, 5)
	w := g.Root().Value("w", graph.Const(1), 5, 1)
	loss, ok := fused.SquaredError(x.Scale(2), y, w)
	if !ok {
		t.Fatal(g.Err())
	}
	p := graphtest.Run(t, graphtest.Compile(t, loss.Add(x.Square().SumAll()), x))
	for i, got := range p.Grad(x).Floats() {
		a := x.Tensor().At(i)
		graphtest.Close(t, "∂x", []float64{got}, []float64{4./5*(2*a-y.Tensor().At(i)) + 2*a}, 1e-14)
	}
}

// Watch passes gradients on during the backward pass, the last layer's first, in the order that it returned. They equal
// the gradients after the run, for kernels and for stock operations, and for a matrix that is used twice.
func TestWatch(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float32, 3)
		g.Kernels = kernels
		x := g.Root().Value("x", graph.Normal(1), 6, 8)
		var wrt []graph.Expr
		tied := g.Root().Param("tied", graph.Normal(0.5), 8, 8)
		h := x.MatMul(tied)
		for _, name := range []string{"a", "b", "c"} {
			w := g.Root().Sub("%s", name).Param("w", graph.Normal(0.5), 8, 8)
			bias := g.Root().Sub("%s", name).Param("b", graph.Normal(0.5), 8)
			wrt = append(wrt, w, bias)
			y, ok := fused.Linear(h, w, bias)
			if !ok {
				y = h.MatMul(w).Add(bias)
			}
			h = h.Add(y.Tanh())
		}
		p := graphtest.Compile(t, h.MatMul(tied).Square().SumAll(), append(wrt, tied)...)
		var shown []string
		seen := map[string][]float64{}
		order := p.Watch(func(x graph.Expr, grad graph.Tensor) {
			shown = append(shown, x.Name())
			seen[x.Name()] = grad.Floats()
		})
		for range 2 {
			shown = nil
			graphtest.Run(t, p)
			var said []string
			for _, x := range order {
				said = append(said, x.Name())
				if !slices.Equal(seen[x.Name()], p.Grad(x).Floats()) {
					t.Errorf("kernels %t: %s was shown another gradient", kernels, x.Name())
				}
			}
			if !slices.Equal(shown, said) || len(shown) != 7 || shown[6] != "tied" || shown[0][0] != 'c' ||
				shown[5][0] != 'a' {
				t.Errorf("kernels %t: shown %v, said %v", kernels, shown, said)
			}
		}
		shown = nil
		if p.Watch(nil); graphtest.Run(t, p) != nil && shown != nil {
			t.Errorf("kernels %t: shown %v to nobody", kernels, shown)
		}
	}
}
