package graph

import (
	"hash"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chewxy/hm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// stockCases returns Gorgonia's operations on x and y, with the shapes that they accept.
func stockCases() map[string]stockCase {
	m, n := []int{3, 4}, []int{3, 4}
	one := func(f func(*G.Node) (*G.Node, error), shape ...int) stockCase {
		return stockCase{shape, nil, func(x, _ *G.Node) (*G.Node, error) { return f(x) }}
	}
	same := func(f func(a, b *G.Node) (*G.Node, error)) stockCase { return stockCase{m, n, f} }
	cases := map[string]stockCase{
		"add": same(G.Add), "sub": same(G.Sub), "mul": same(G.HadamardProd), "div": same(G.HadamardDiv),
		"pow":     same(G.Pow),
		"greater": same(func(a, b *G.Node) (*G.Node, error) { return G.Gt(a, b, true) }),
		"least":   same(func(a, b *G.Node) (*G.Node, error) { return G.Lte(a, b, true) }),
		"c − x":   one(func(x *G.Node) (*G.Node, error) { return G.Sub(G.NewConstant(0.7), x) }, 3, 4),
		"x − c":   one(func(x *G.Node) (*G.Node, error) { return G.Sub(x, G.NewConstant(0.7)) }, 3, 4),
		"c / x":   one(func(x *G.Node) (*G.Node, error) { return G.HadamardDiv(G.NewConstant(0.7), x) }, 3, 4),
		"x ^ c":   one(func(x *G.Node) (*G.Node, error) { return G.Pow(x, G.NewConstant(1.7)) }, 3, 4),
		"x − x̄": one(func(x *G.Node) (*G.Node, error) {
			mean, err := G.Mean(x)
			if err != nil {
				return nil, err
			}
			return G.Sub(x, mean)
		}, 3, 4),
		"sum":       one(func(x *G.Node) (*G.Node, error) { return G.Sum(x, 0) }, 3, 4),
		"sum 2":     one(func(x *G.Node) (*G.Node, error) { return G.Sum(x, 1, 2) }, 3, 4, 2),
		"max":       one(func(x *G.Node) (*G.Node, error) { return G.Max(x, 1) }, 3, 4),
		"mean":      one(func(x *G.Node) (*G.Node, error) { return G.Mean(x, 1) }, 3, 4),
		"norm":      one(func(x *G.Node) (*G.Node, error) { return G.Norm(x, 1, 2) }, 3, 4),
		"softmax":   one(func(x *G.Node) (*G.Node, error) { return G.SoftMax(x, 1) }, 3, 4),
		"transpose": one(func(x *G.Node) (*G.Node, error) { return G.Transpose(x, 2, 0, 1) }, 3, 4, 2),
		"reshape":   one(func(x *G.Node) (*G.Node, error) { return G.Reshape(x, tensor.Shape{2, 6}) }, 3, 4),
		"slice":     one(func(x *G.Node) (*G.Node, error) { return G.Slice(x, nil, G.S(1, 3)) }, 3, 4),
		"row":       one(func(x *G.Node) (*G.Node, error) { return G.Slice(x, G.S(1)) }, 3, 4),
		"leaky":     one(func(x *G.Node) (*G.Node, error) { return G.LeakyRelu(x, 0.1) }, 3, 4),
		"pool": one(
			func(x *G.Node) (*G.Node, error) { return G.MaxPool2D(x, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}) }, 1,
			2, 4, 4,
		),
		"rows of one": {[]int{5, 1}, nil, func(x, _ *G.Node) (*G.Node, error) {
			ids := tensor.New(tensor.WithShape(3), tensor.WithBacking([]int{4, 0, 4}))
			return G.ByIndices(
				x, G.NewVector(x.Graph(), tensor.Int, G.WithShape(3), G.WithName("ids"), G.WithValue(ids)), 0,
			)
		}},
		"concat": {m, []int{2, 4}, func(x, y *G.Node) (*G.Node, error) { return G.Concat(0, x, y) }},
		"broadcast": {
			m, []int{1, 4},
			func(x, y *G.Node) (*G.Node, error) { return G.BroadcastHadamardProd(x, y, nil, []byte{0}) },
		},
		"column": {
			[]int{3, 1}, n, func(x, y *G.Node) (*G.Node, error) { return G.BroadcastSub(x, y, []byte{1}, nil) },
		},
		"product": {m, []int{4, 2}, G.Mul},
		"vector":  {m, []int{4}, G.Mul},
		"dot":     {[]int{4}, []int{4}, G.Mul},
		"outer":   {[]int{3}, []int{4}, G.OuterProd},
		"tensordot": {
			m, []int{2, 3}, func(x, y *G.Node) (*G.Node, error) { return G.Tensordot([]int{0}, []int{1}, x, y) },
		},
		"conv": {[]int{1, 2, 5, 5}, []int{3, 2, 3, 3}, func(x, y *G.Node) (*G.Node, error) {
			return G.Conv2d(x, y, tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1})
		}},
	}
	for name, f := range map[string]func(*G.Node) (*G.Node, error){
		"abs": G.Abs, "sign": G.Sign, "ceil": G.Ceil, "floor": G.Floor, "sin": G.Sin, "cos": G.Cos, "exp": G.Exp,
		"log":  G.Log,
		"log2": G.Log2, "neg": G.Neg, "square": G.Square, "sqrt": G.Sqrt, "inverse": G.Inverse,
		"inverse sqrt": G.InverseSqrt,
		"cube":         G.Cube, "tanh": G.Tanh, "sigmoid": G.Sigmoid, "log1p": G.Log1p, "expm1": G.Expm1,
		"softplus": G.Softplus,
		"relu":     G.Rectify,
	} {
		cases[name] = one(f, 3, 4)
	}
	for _, name := range []string{"", "a", "b", "ab"} {
		a, b := []int{2, 3, 4}, []int{2, 4, 5}
		transA, transB := name == "a" || name == "ab", name == "b" || name == "ab"
		if transA {
			a = []int{2, 4, 3}
		}
		if transB {
			b = []int{2, 5, 4}
		}
		cases["batches "+name] = stockCase{
			a, b, func(x, y *G.Node) (*G.Node, error) { return G.BatchedMatMul(x, y, transA, transB) },
		}
	}
	return cases
}

type stockCase struct {
	x, y  []int
	build func(x, y *G.Node) (*G.Node, error)
}

// Every operation of Gorgonia's computes the same in a Program as in Gorgonia's own machine: the same bits of the value
// and of the gradients, also in a second run and in a place of Recompute.
func TestStockOperations(t *testing.T) {
	for name, c := range stockCases() {
		for _, recompute := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				g := New(Float64, 5)
				g.Kernels = false
				s := g.Root().Sub("layer")
				x := g.Root().Param("x", uniform(0.5, 2), c.x...)
				y, wrt := x, []Expr{x}
				if c.y != nil {
					y = g.Root().Param("y", uniform(0.5, 2), c.y...)
					wrt = append(wrt, y)
				}
				a, b := x, y
				if len(c.x) == 1 { // stored as a row
					a = x.Wrap(G.Reshape(x.node, c.x))
				}
				if len(c.y) == 1 {
					b = y.Wrap(G.Reshape(y.node, c.y))
				}
				out := a.In(s).Wrap(c.build(a.node, b.node))
				if recompute {
					g.Recompute("layer")
				}
				loss := out.In(g.Root())
				if len(out.Shape()) > 0 {
					loss = out.Wrap(G.Sum(G.Must(G.HadamardProd(out.node, out.node))))
				}
				p, err := Compile(loss, wrt...)
				value, gradients, machineErr := machine(c, x, y)
				if err != nil || machineErr != nil {
					if machineErr == nil {
						t.Fatal(err)
					}
					p, wrt = mustCompile(t, loss), nil // it has no derivative
				}
				for range 2 {
					mustRun(t, p)
					if got := p.Loss(); math.Float64bits(got) != math.Float64bits(value) {
						t.Errorf("the sum of squares is %v, in Gorgonia's machine %v", got, value)
					}
					for i, w := range wrt {
						checkClose(t, "∂"+w.Name(), p.Grad(w).Floats(), gradients[i], 0)
					}
				}
			})
		}
	}
}

// machine runs the case on the numbers of x and y in Gorgonia's machine.
func machine(c stockCase, x, y Expr) (value float64, gradients [][]float64, err error) {
	for _, differentiate := range []bool{false, true} {
		g := G.NewGraph()
		leaf := func(name string, e Expr, shape []int) *G.Node {
			if shape == nil {
				return nil
			}
			dense := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(e.Tensor().Floats()))
			return G.NewTensor(g, Float64, len(shape), G.WithShape(shape...), G.WithName(name), G.WithValue(dense))
		}
		a, b := leaf("x", x, c.x), leaf("y", y, c.y)
		out, e := c.build(a, b)
		if e != nil {
			return 0, nil, e
		}
		if len(out.Shape()) > 0 {
			out = G.Must(G.Sum(G.Must(G.HadamardProd(out, out))))
		}
		wrt := G.Nodes{a}
		if b != nil {
			wrt = append(wrt, b)
		}
		var grads G.Nodes
		if differentiate {
			if grads, err = G.Grad(out, wrt...); err != nil {
				return value, nil, err
			}
		}
		read := make([]G.Value, len(grads))
		for i, n := range grads {
			G.Read(n, &read[i])
		}
		var loss G.Value
		G.Read(out, &loss)
		vm := G.NewTapeMachine(g)
		if err = vm.RunAll(); err != nil {
			return value, nil, err
		}
		value = ops.NumbersOf(loss).F64[0]
		for _, v := range read {
			gradients = append(gradients, slices.Clone(ops.NumbersOf(v).F64))
		}
	}
	return value, gradients, nil
}

// counted computes 3·x and counts its runs.
type counted struct {
	runs       *int
	overwrites int
	result     func(x *tensor.Dense) (G.Value, error)
}

func (c counted) Arity() int            { return 1 }
func (c counted) Type() hm.Type         { return hm.NewFnType(hm.TypeVariable('a'), hm.TypeVariable('a')) }
func (c counted) ReturnsPtr() bool      { return true }
func (c counted) CallsExtern() bool     { return false }
func (c counted) OverwritesInput() int  { return c.overwrites }
func (c counted) WriteHash(h hash.Hash) { h.Write([]byte("counted")) }
func (c counted) Hashcode() uint32      { return 1789 }
func (c counted) String() string        { return "counted" }
func (c counted) DiffWRT(int) []bool    { return []bool{true} }
func (c counted) Do(in ...G.Value) (G.Value, error) {
	*c.runs++
	return c.result(in[0].(*tensor.Dense))
}

func (c counted) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return in[0].(tensor.Shape), nil }

func (c counted) SymDiff(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	n, err := G.HadamardProd(grad, G.NewConstant(3.))
	return G.Nodes{n}, err
}

func tripled(x *tensor.Dense) (G.Value, error) { return x.MulScalar(3., true) }

// A pure function runs again for the backward pass, an operation that may have a state runs once, and the gradients are
// the same.
func TestRecomputeStockOperations(t *testing.T) {
	for overwrites, want := range map[int]int{0: 2, -1: 1} {
		runs, g := 0, New(Float64, 1)
		s := g.Root().Sub("h.0")
		x := g.Root().Param("x", Normal(1), 2, 3)
		y := x.In(s).Wrap(
			G.ApplyOp(counted{&runs, overwrites, tripled}, x.node),
		).Square().Mul(s.Param("w", Normal(1), 3))
		g.Recompute("h.0")
		mustRun(t, mustCompile(t, y.In(g.Root()).SumAll(), g.Params()...))
		if runs != want {
			t.Errorf("overwriting input %d: %d runs, want %d", overwrites, runs, want)
		}
		g = New(Float64, 1)
		s = g.Root().Sub("h.0")
		x = g.Root().Param("x", Normal(1), 2, 3)
		y = x.In(s).Wrap(
			G.ApplyOp(counted{&runs, overwrites, tripled}, x.node),
		).Square().Mul(s.Param("w", Normal(1), 3))
		g.Recompute("h.0")
		checkGradients(t, y.In(g.Root()), g.Params()...)
	}
}

// An operation may return its operand, a view, or axes in another order. A result that does not fit is an error that
// names the operation.
func TestStockResults(t *testing.T) {
	for name, c := range map[string]struct {
		result func(x *tensor.Dense) (G.Value, error)
		want   []float64
		err    string
	}{
		"operand": {func(x *tensor.Dense) (G.Value, error) { return x, nil }, []float64{1, 2, 3, 4}, ""},
		"transpose": {
			func(x *tensor.Dense) (G.Value, error) { y := x.ShallowClone(); return y, y.T() }, []float64{1, 3, 2, 4},
			"",
		},
		"view": {func(x *tensor.Dense) (G.Value, error) {
			wide, err := x.Hstack(x)
			if err != nil {
				return nil, err
			}
			return wide.Slice(nil, G.S(1, 3))
		}, []float64{2, 1, 4, 3}, ""},
		"columns": {func(*tensor.Dense) (G.Value, error) {
			return tensor.New(tensor.WithShape(2, 2), tensor.AsFortran([]float64{1, 3, 2, 4})), nil
		}, nil, "run: layer: counted: it returns shape (2, 2) in column-major order"},
		"nothing": {
			func(*tensor.Dense) (G.Value, error) { return nil, nil }, nil, "run: layer: counted: it returns nothing",
		},
		"shape": {
			func(x *tensor.Dense) (G.Value, error) { return x.Hstack(x) }, nil,
			"run: layer: counted: it returns 8 entries, but announced shape (2, 2)",
		},
		"error": {
			func(*tensor.Dense) (G.Value, error) { return nil, errors.New("no") }, nil, "run: layer: counted: no",
		},
		"panic": {func(*tensor.Dense) (G.Value, error) { panic("glass") }, nil, "run: layer: counted: glass"},
	} {
		g := New(Float64, 1)
		x := g.Root().Param("x", func(i int, _ *rand.Rand) float64 { return float64(i + 1) }, 2, 2)
		p := mustCompile(t, x.In(g.Root().Sub("layer")).Wrap(G.ApplyOp(counted{new(int), -1, c.result}, x.node)))
		for range 2 {
			err := p.Run()
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%s: got error %v, want %s", name, err, c.err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			checkClose(t, name, p.Value().Floats(), c.want, 0)
		}
		checkClose(t, name+": x", x.Tensor().Floats(), []float64{1, 2, 3, 4}, 0)
	}
}

// adding is an operation that adds to the memory passed to it.
type adding struct{ counted }

func (adding) CallsExtern() bool { return true }
func (adding) UsePreallocDo(to G.Value, in ...G.Value) (G.Value, error) {
	return to.(*tensor.Dense).Add(in[0].(*tensor.Dense), tensor.UseUnsafe())
}

// An operation that gets new memory in Gorgonia finds zeros in every run.
func TestStockMemoryIsCleared(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(3), 2, 2)
	p := mustCompile(t, x.Wrap(G.ApplyOp(adding{}, x.node)))
	for range 2 {
		checkClose(t, "sum", mustRun(t, p).Value().Floats(), []float64{3, 3, 3, 3}, 0)
	}
}

// An input created in Gorgonia has the value set by G.Let; without one it is an error.
func TestStockInputs(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(3), 2, 2)
	raw := G.NewMatrix(g.g, Float64, G.WithShape(2, 2), G.WithName("raw"))
	y := x.Wrap(G.HadamardProd(x.node, raw))
	if _, err := Compile(y); err == nil || err.Error() != "the input raw has no value" {
		t.Errorf("got error %v", err)
	}
	let := func(v float64) {
		t.Helper()
		if err := G.Let(
			raw, tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{v, v, v, v})),
		); err != nil {
			t.Fatal(err)
		}
	}
	let(2)
	p := mustCompile(t, y)
	checkClose(t, "product", mustRun(t, p).Value().Floats(), []float64{6, 6, 6, 6}, 0)
	let(5)
	checkClose(t, "another product", mustRun(t, p).Value().Floats(), []float64{15, 15, 15, 15}, 0)
}

// given is an operation that must not be passed memory: it would write a wrong result to it.
type given struct{ counted }

func (given) UsePreallocDo(to G.Value, _ ...G.Value) (G.Value, error) {
	return to.(*tensor.Dense).AddScalar(7., true, tensor.UseUnsafe())
}

// Memory is passed to arithmetic of two operands, and to operations that call extern, as in Gorgonia itself.
func TestStockMemoryIsNotForAll(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 2, 2)
	p := mustCompile(t, x.Wrap(G.ApplyOp(given{counted{new(int), -1, tripled}}, x.node)))
	checkClose(t, "3x", mustRun(t, p).Value().Floats(), []float64{6, 6, 6, 6}, 0)
}

// An operation that transposes its operand, and leaves it so, changes only its own header.
func TestStockHeaders(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", func(i int, _ *rand.Rand) float64 { return float64(i) }, 2, 3)
	turns := func(x *tensor.Dense) (G.Value, error) {
		y, err := x.MulScalar(1., true)
		if err != nil {
			return nil, err
		}
		return y, x.T()
	}
	first := x.Wrap(G.ApplyOp(counted{new(int), -1, turns}, x.node))
	p := mustCompile(t, first.Add(x.Wrap(G.Transpose(G.Must(G.Transpose(x.node, 1, 0)), 1, 0))))
	checkClose(t, "2x", mustRun(t, p).Value().Floats(), []float64{0, 2, 4, 6, 8, 10}, 0)
	if shape := x.dense.Shape(); !shape.Eq(tensor.Shape{2, 3}) {
		t.Errorf("the parameter has shape %v, want (2, 3)", shape)
	}
}

// A sum of integers is not a sum of the graph's numbers.
func TestSumOfIntegers(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", func(i int, _ *rand.Rand) float64 { return float64(i) }, 5, 2)
	ids := g.Root().Ints("ids", 3, 3, -1)
	copy(ids.Ints(), []int{2, 0, 1})
	p := mustCompile(t, x.Wrap(G.ByIndices(x.node, G.Must(G.Add(ids.node, ids.node)), 0)))
	checkClose(t, "rows", mustRun(t, p).Value().Floats(), []float64{8, 9, 0, 1, 4, 5}, 0)
}
