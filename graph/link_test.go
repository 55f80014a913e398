package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A sum of two tensors of one shape is our operation if kernels are enabled. It is Gorgonia's if they are not, or if
// one operand is a number.
func TestSumsOfTensors(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		for name, c := range map[string]struct {
			build func(x, y Expr) (*G.Node, error)
			stock int // with kernels
			want  func(x, y float64) float64
		}{
			"two": {
				func(x, y Expr) (*G.Node, error) { return G.Add(x.node, y.node) }, 0,
				func(x, y float64) float64 { return x + y },
			},
			"a difference": {
				func(x, y Expr) (*G.Node, error) { return G.Sub(x.node, y.node) }, 1,
				func(x, y float64) float64 { return x - y },
			},
			"and a number": {
				func(x, y Expr) (*G.Node, error) { return G.Add(x.node, G.NewConstant(3.)) }, 1,
				func(x, y float64) float64 { return x + 3 },
			},
			"to a number": {
				func(x, y Expr) (*G.Node, error) { return G.Add(G.NewConstant(3.), x.node) }, 1,
				func(x, y float64) float64 { return x + 3 },
			},
			"and the total": {
				func(x, y Expr) (*G.Node, error) { return G.Add(x.node, y.SumAll().node) }, 2,
				func(x, y float64) float64 { return x + 6*y },
			},
			"to the total": {
				func(x, y Expr) (*G.Node, error) { return G.Add(y.SumAll().node, x.node) }, 2,
				func(x, y float64) float64 { return x + 6*y },
			},
		} {
			g := New(Float64, 1)
			g.Kernels = kernels
			x, y := g.Root().Value("x", Normal(1), 2, 3), g.Root().Value("y", Const(0.5), 2, 3)
			p := mustRun(t, mustCompile(t, x.Wrap(c.build(x, y))))
			for i, v := range x.Tensor().Floats() {
				checkClose(t, name, []float64{p.Value().At(i)}, []float64{c.want(v, 0.5)}, 1e-14)
			}
			want := c.stock
			if !kernels {
				want = max(1, want)
			}
			if len(p.Stock()) != want {
				t.Errorf("%s, kernels %t: %v are Gorgonia's, want %d", name, kernels, p.Stock(), want)
			}
		}
	}
}

// Every operation that an Expr stands for is named with its layer, including broadcasts. The sizes needed for a
// broadcast do not count as operations. Axes stretch if they are 1 or missing.
func TestBroadcasts(t *testing.T) {
	for _, c := range []struct{ a, b []int }{
		{[]int{3, 4}, []int{4}}, {[]int{3, 4}, []int{3, 1}}, {[]int{3, 1}, []int{3, 4}}, {[]int{1, 4}, []int{3, 4}},
		{[]int{1, 4}, []int{3, 1}},
		{[]int{2, 3, 4}, []int{3, 4}}, {[]int{2, 1, 4}, []int{2, 3, 1}}, {[]int{2, 3, 4, 5}, []int{4, 5}},
		{[]int{2, 3, 4, 5}, []int{2, 1, 4, 1}},
	} {
		for _, dtype := range []Dtype{Float32, Float64} {
			g := New(dtype, 1)
			s := g.Root().Sub("h.0")
			x, y := g.Root().Value("x", Normal(1), c.a...), g.Root().Value("y", Normal(1), c.b...)
			z := x.In(s).Sub(y)
			if g.Err() != nil {
				t.Fatal(g.Err())
			}
			p := mustRun(t, mustCompile(t, z))
			shape := z.Shape()
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
			for i := range p.Value().Len() {
				checkClose(t, fmt.Sprint(c), []float64{p.Value().At(i)}, []float64{at(x, i) - at(y, i)}, 1e-6)
			}
			for _, name := range p.Stock() {
				if !strings.HasPrefix(name, "h.0: ") || name == "h.0: " || strings.Contains(name, "Size") {
					t.Errorf("%v: %q is an operation", c, name)
				}
			}
		}
	}
}

// The rows of a table of one column are our operation where Gorgonia's is wrong, and only there.
func TestWhoSelectsRows(t *testing.T) {
	for _, c := range []struct {
		rows, cols, ids int
		ours            bool
	}{
		{1, 1, 3, true}, {5, 1, 1, true}, {1, 1, 1, true}, {5, 1, 3, false}, {5, 3, 1, false}, {1, 3, 2, false},
		{5, 3, 2, false},
	} {
		g := New(Float64, 1)
		x := g.Root().Param("x", Normal(1), c.rows, c.cols)
		if _, ours := x.Gather(g.Root().Ints("ids", c.ids, c.rows, -1)).node.Op().(*ops.Op); ours != c.ours {
			t.Errorf("%+v: ours %t", c, ours)
		}
	}
}

// An expression of one constant needs no program, and a gradient may be requested several times.
func TestCompiledExpressions(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Normal(1), 2, 3)
	one := x.Wrap(G.Square(g.g.AddNode(G.NewConstant(1.))))
	if _, err := Compile(one); err == nil || err.Error() != "the expression depends on no parameter and no input" {
		t.Errorf("got error %v", err)
	}
	y := x.Detach().Square().SumAll()
	if _, err := Compile(y, x); err == nil || err.Error() != "x: the loss does not depend on it" {
		t.Errorf("got error %v", err)
	}
	g = New(Float64, 1)
	x = g.Root().Param("x", Normal(1), 2, 3)
	p := mustRun(t, mustCompile(t, x.Square().SumAll(), x, x))
	for i, v := range x.Tensor().Floats() {
		checkClose(t, "gradient", []float64{p.Grad(x).At(i)}, []float64{2 * v}, 0)
	}
	shape := []int{3, 2}
	z := x.Reshape(shape...)
	if shape[0] = 9; !slices.Equal(z.Shape(), []int{3, 2}) {
		t.Errorf("the shape is %v", z.Shape())
	}
	if err := New(Float64, 1).Root().Value("v", Normal(1), 5).Wrap(nil, errCollision).Graph().Err(); err == nil {
		t.Error("no error")
	}
}

// A vector that Gorgonia created as a row is summed like a row.
func TestSumOfAVector(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Normal(1), 2, 3)
	v := x.Wrap(G.Sum(x.node, 0))
	if s := v.Sum().Shape(); !slices.Equal(s, []int{1}) || g.Err() != nil {
		t.Errorf("the shape is %v, error %v", s, g.Err())
	}
}

// merged detects an operand that a node does not depend on, and a leaf that is not one of its operands. It visits a
// node with several users once.
func TestMerged(t *testing.T) {
	g := New(Float64, 1)
	x, y := g.Root().Param("x", Normal(1), 2, 3), g.Root().Param("y", Normal(1), 2, 3)
	both := x.Sub(y)
	for name, c := range map[string]struct {
		node     *G.Node
		operands []Expr
		want     bool
	}{
		"its operands":      {both.node, []Expr{x, y}, false},
		"one twice":         {x.Sub(x).node, []Expr{x, x}, false},
		"another operand":   {x.Square().node, []Expr{y}, true},
		"one too many":      {x.Square().node, []Expr{x, y}, true},
		"one too few":       {both.node, []Expr{x}, true},
		"an operand itself": {x.node, []Expr{x}, false},
	} {
		if got := g.merged(c.node, c.operands); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
	n := x.node
	for range 60 {
		n = G.Must(G.HadamardProd(n, n))
	}
	if g.merged(n, []Expr{x}) {
		t.Error("a power of x does not depend on x alone")
	}
}

// which returns 1 where a truth value is true, else 0.
type which struct{ counted }

func (which) Type() hm.Type {
	return hm.NewFnType(G.TensorType{Dims: 2, Of: tensor.Bool}, G.TensorType{Dims: 2, Of: tensor.Float64})
}
func (which) Do(in ...G.Value) (G.Value, error) {
	truth := in[0].(*tensor.Dense).Bools()
	out := make([]float64, len(truth))
	for i, v := range truth {
		if v {
			out[i] = 1
		}
	}
	return tensor.New(tensor.WithShape(in[0].Shape()...), tensor.WithBacking(out)), nil
}

// A result of another type passes from one Gorgonia operation to the next, in every run.
func TestTruthValues(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Value("x", Normal(1), 2, 3)
	truth := G.Must(G.Gt(x.node, g.Root().Value("y", Const(0), 2, 3).node, false))
	p := mustCompile(t, x.Wrap(G.ApplyOp(which{}, truth)))
	for range 2 {
		got := mustRun(t, p).Value().Floats()
		for i, v := range x.Tensor().Floats() {
			if want := map[bool]float64{true: 1, false: 0}[v > 0]; got[i] != want {
				t.Errorf("entry %d: got %v of %v", i, got[i], v)
			}
			x.Tensor().Set(i, -v)
		}
	}
}

// A constant for differentiation is a constant for Gorgonia too. Only operations without state may run twice.
func TestConstantsAndStates(t *testing.T) {
	g := New(Float64, 1)
	x, y := g.Root().Param("x", Normal(1), 2, 3), g.Root().Param("y", Normal(1), 2, 3)
	for name, e := range map[string]Expr{
		"one-hot": g.Root().Ints("ids", 3, 4, -1).OneHot(4), "row max": x.RowMax(), "detach": x.Detach(),
	} {
		if by := e.node.Op().(*ops.Op).DiffWRT(1); len(by) != 1 || by[0] {
			t.Errorf("%s can be differentiated", name)
		}
	}
	for name, c := range map[string]struct {
		op   G.Op
		want bool
	}{
		"difference": {x.Sub(y).node.Op(), true}, "exponential": {x.Exp().node.Op(), true},
		"product": {G.Must(G.Mul(x.node, y.Transpose(1, 0).node)).Op(), true},
		"counter": {counted{overwrites: -1}, false}, "in place": {counted{}, true},
	} {
		if ops.Pure(c.op) != c.want {
			t.Errorf("%s may run twice: %t", name, !c.want)
		}
	}
}

// unsafely is an operation that could work in place, if it reported so.
type unsafely struct{ counted }

func (unsafely) UnsafeDo(...G.Value) (G.Value, error) { return nil, errCollision }

// An operation that does not report that it overwrites its input is never called in place.
func TestUnsafeOperations(t *testing.T) {
	for _, overwrites := range []int{-1, 1} {
		runs, g := 0, New(Float64, 1)
		x := g.Root().Param("x", Const(2), 2, 3)
		y := x.Wrap(
			G.ApplyOp(
				unsafely{
					counted{&runs, overwrites, func(x *tensor.Dense) (G.Value, error) { return x.MulScalar(3., true) }},
				},
				x.node,
			),
		)
		checkClose(t, "tripled", values(t, y), []float64{6, 6, 6, 6, 6, 6}, 0)
	}
}

// UseBLAS changes the process; the test restores the previous BLAS.
func TestUseBLAS(t *testing.T) {
	before := G.WhichBLAS()
	defer G.Use(before)
	UseBLAS(3)
	if p, ok := G.WhichBLAS().(products); !ok || p.pool.Threads() != 3 {
		t.Errorf("Gorgonia multiplies with %T", G.WhichBLAS())
	}
}
