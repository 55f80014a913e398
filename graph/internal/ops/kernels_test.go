package ops_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/pedestrian-ml/pedestrian/graph"
	. "github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	G "gorgonia.org/gorgonia"
)

// kernelCase is a kernel on some leaves, and its equation in stock operations.
type kernelCase struct {
	leaves func(s Scope) (in []Expr, wrt int) // it is differentiated by the first wrt leaves
	kernel func(in []Expr) (Expr, bool)
	plain  func(in []Expr) Expr
}

// leaves returns matrices of normal numbers; the kernel is differentiated by the first wrt of them.
func leaves(wrt int, shapes ...[]int) func(Scope) ([]Expr, int) {
	return func(s Scope) (in []Expr, _ int) {
		for i, shape := range shapes {
			in = append(in, s.Param(fmt.Sprint("x", i), Normal(1), shape...))
		}
		return in, wrt
	}
}

// listed appends integers below limit.
func listed(f func(Scope) ([]Expr, int), limit, ignore int, list ...int) func(Scope) ([]Expr, int) {
	return func(s Scope) ([]Expr, int) {
		in, wrt := f(s)
		ids := s.Ints("ids", len(list), limit, ignore)
		copy(ids.Ints(), list)
		return append(in, ids), wrt
	}
}

// positive replaces a leaf's numbers by |x| + ½.
func positive(f func(Scope) ([]Expr, int), i int) func(Scope) ([]Expr, int) {
	return func(s Scope) ([]Expr, int) {
		in, wrt := f(s)
		for j := range in[i].Tensor().Len() {
			in[i].Tensor().Set(j, math.Abs(in[i].Tensor().At(j))+0.5)
		}
		return in, wrt
	}
}

// rows returns the rows of x, in the order of a list.
func rows(x Expr, list ...int) Expr {
	ids := x.Graph().Root().Ints(fmt.Sprint("rows", len(x.Graph().Leaves())), len(list), x.Shape()[0], -1)
	copy(ids.Ints(), list)
	return x.Gather(ids)
}

func kernelCases() map[string]kernelCase {
	m := func(n, d int) []int { return []int{n, d} }
	cases := map[string]kernelCase{
		"mean of tokens": {leaves(1, m(15, 4)), func(in []Expr) (Expr, bool) { return MeanTokens(in[0], 3) },
			func(in []Expr) Expr { return in[0].Reshape(3, 5, 4).Transpose(0, 2, 1).Mean().Reshape(3, 4) }},
		"one token": {listed(leaves(1, m(15, 4)), 5, -1, 4, 0, 2),
			func(in []Expr) (Expr, bool) { return GatherTokens(in[0], in[1]) },
			func(in []Expr) Expr { return rows(in[0], 4, 5, 12) }},
		"gather columns": {leaves(1, m(3, 5)), func(in []Expr) (Expr, bool) {
			return GatherCols(in[0], []int{4, -1, -1, 0, 4, 1, 2, 3, 1})
		}, func(in []Expr) Expr {
			x := in[0]
			return x.Columns(4, 5).Join(x.Columns(0, 2).Scale(0), x.Columns(0, 1), x.Columns(4, 5), x.Columns(1, 4),
				x.Columns(1, 2))
		}},
		"scan": {leaves(2, m(6, 5), m(6, 5)), func(in []Expr) (Expr, bool) {
			return Scan(in[0], in[1], ScanShape{Batch: 2, Context: 3, Width: 5, Average: false})
		},
			func(in []Expr) Expr { return in[0].Scan(in[1].Shift(1), 3) }},
		"scan of averages": {leaves(2, m(6, 5), m(6, 5)), func(in []Expr) (Expr, bool) {
			return Scan(in[0], in[1], ScanShape{Batch: 2, Context: 3, Width: 5, Average: true})
		},
			func(in []Expr) Expr { return in[0].Mul(in[1].Scale(-1)).Scan(in[1].Shift(1), 3) }},
		"share": {leaves(1, m(6, 5)), func(in []Expr) (Expr, bool) { return Share(in[0]) },
			func(in []Expr) Expr { return in[0].Sigmoid().Scale(-1) }},
		"add scaled": {leaves(3, m(3, 6), m(3, 6), []int{2}),
			func(in []Expr) (Expr, bool) { return AddScaled(in[0], in[1], in[2]) }, func(in []Expr) Expr {
				return in[0].Add(in[1].Reshape(3, 2, 3).Mul(in[2].Reshape(1, 2, 1)).Reshape(3, 6))
			}},
		"lru decay": {leaves(2, m(3, 5), []int{5}), func(in []Expr) (Expr, bool) { return LRUDecay(in[0], in[1], 8) },
			func(in []Expr) Expr {
				return in[0].Sigmoid().Mul(in[1].Scale(-1).Softplus().Scale(-8)).Exp().Shift(-1)
			}},
		"lru input": {leaves(2, m(3, 5), m(3, 5)), func(in []Expr) (Expr, bool) {
			return LRUInput(in[0], in[1].Square().Shift(1).Log().Scale(-0.3))
		}, func(in []Expr) Expr {
			c := in[1].Square().Shift(1).Log().Scale(-0.3)
			return c.Shift(2).Mul(c.Scale(-1)).Sqrt().Mul(in[0])
		}},
		"linear": {
			leaves(3, m(3, 5), m(5, 4), []int{4}),
			func(in []Expr) (Expr, bool) { return Linear(in[0], in[1], in[2]) },
			func(in []Expr) Expr { return in[0].MatMul(in[1]).Add(in[2]) }},
		"linear without a bias": {leaves(2, m(3, 5), m(5, 4)),
			func(in []Expr) (Expr, bool) { return Linear(in[0], in[1], Expr{}) },
			func(in []Expr) Expr { return in[0].MatMul(in[1]) }},
		"linear of the transpose": {leaves(2, m(3, 5), m(4, 5)),
			func(in []Expr) (Expr, bool) { return LinearT(in[0], in[1]) },
			func(in []Expr) Expr { return in[0].MatMulT(in[1]) }},
		"gather": {listed(leaves(1, m(5, 3)), 5, -1, 4, 1, 4, 0),
			func(in []Expr) (Expr, bool) { return Gather(in[0], in[1]) },
			func(in []Expr) Expr { return in[0].Gather(in[1]) }},
		"add positions": {listed(leaves(2, m(4, 3), m(6, 3)), 6, -1, 5, 0, 5, 2),
			func(in []Expr) (Expr, bool) { return AddPositions(in[0], in[1], in[2], 1.7) },
			func(in []Expr) Expr { return in[0].Scale(1.7).Add(in[1].Gather(in[2])) }},
		"rotate": {listed(leaves(1, m(5, 11), m(7, 2), m(7, 2)), 7, -1, 6, 0, 3, 3, 1),
			func(in []Expr) (Expr, bool) { return Rotate(in[0], in[1], in[2], in[3], 2) }, rotated},
		"mix columns": {leaves(3, m(5, 7), m(5, 3), []int{2}),
			func(in []Expr) (Expr, bool) { return MixColumns(in[0], in[1], in[2]) },
			func(in []Expr) Expr {
				l := in[2].Reshape(1, 2)
				mixed := in[0].Columns(4, 7).Mul(l.Columns(0, 1)).Add(in[1].Mul(l.Columns(1, 2)))
				return in[0].Columns(0, 4).Join(mixed)
			}},
		"mix all columns": {leaves(3, m(5, 7), m(5, 7), []int{1}),
			func(in []Expr) (Expr, bool) { return MixColumns(in[0], in[1], in[2]) },
			func(in []Expr) Expr { return in[0].Add(in[1].Mul(in[2].Reshape(1, 1))) }},
		"sinkhorn": {leaves(1, m(5, 9)), func(in []Expr) (Expr, bool) { return Sinkhorn(in[0], 3, 0.5) },
			func(in []Expr) Expr { return balanced(in[0], 3, 3, 0.5) }},
		"matmul each": {leaves(2, m(5, 6), m(5, 8)), func(in []Expr) (Expr, bool) {
			return MatMulEach(in[0], in[1], 2)
		},
			func(in []Expr) Expr {
				return in[0].Reshape(5, 3, 2).MatMul(in[1].Reshape(5, 2, 4)).Reshape(5, 12)
			}},
		"exclude": {leaves(3, m(5, 12), m(5, 12), []int{3}), func(in []Expr) (Expr, bool) {
			return Exclude(in[0], in[1], in[2], 3, 0.5)
		},
			func(in []Expr) Expr { return excluded(in[0], in[1], in[2].Reshape(1, 3)) }},
		"exclude without factors": {leaves(2, m(5, 12), m(5, 12)), func(in []Expr) (Expr, bool) {
			return Exclude(in[0], in[1], Expr{}, 3, 0.5)
		},
			func(in []Expr) Expr { return excluded(in[0], in[1], in[0].Columns(0, 3).Detach().Scale(0).Shift(1)) }},
		"convolve": {leaves(2, m(8, 3), []int{9}), func(in []Expr) (Expr, bool) { return Convolve(in[0], in[1], 4) },
			func(in []Expr) Expr {
				w := in[1].Reshape(1, 9)
				y := in[0].Mul(w.Columns(0, 3))
				for i := 1; i < 3; i++ {
					y = y.Add(in[0].Delay(i, 4).Mul(w.Columns(3*i, 3*i+3)))
				}
				return y
			}},
		"elman": {leaves(2, m(6, 7), m(7, 7)), func(in []Expr) (Expr, bool) { return Elman(in[0], in[1], 2) },
			func(in []Expr) (y Expr) {
				h := rows(in[0], 0, 3).Tanh()
				y = h
				for t := 1; t < 3; t++ {
					h = h.MatMul(in[1]).Add(rows(in[0], t, 3+t)).Tanh()
					y = y.Join(h)
				}
				return y.Reshape(6, 7)
			}},
		"time decay": {leaves(2, m(5, 3), []int{3}), func(in []Expr) (Expr, bool) { return TimeDecay(in[0], in[1]) },
			func(in []Expr) Expr { return in[0].Softplus().Mul(in[1].Exp().Scale(-1)) }},
		"time decay of features": {leaves(2, m(5, 6), []int{3}),
			func(in []Expr) (Expr, bool) { return TimeDecay(in[0], in[1]) },
			func(in []Expr) Expr {
				return in[0].Softplus().Reshape(5, 3, 2).Mul(in[1].Exp().Scale(-1).Reshape(1, 3, 1)).Reshape(5, 6)
			}},
		"mix tokens": {leaves(2, m(5, 3), m(6, 4)), func(in []Expr) (Expr, bool) { return MixTokens(in[0], in[1]) },
			func(in []Expr) Expr {
				first := in[0].MatMul(rows(in[1], 0, 1, 2)).Reshape(1, 20)
				return first.Join(in[0].MatMul(rows(in[1], 3, 4, 5)).Reshape(1, 20)).Reshape(10, 4)
			}},
		"cross attention": {leaves(2, m(6, 8), m(10, 14), m(3, 5)),
			func(in []Expr) (Expr, bool) {
				return CrossAttention(in[0], in[1], in[2], cross(2, 3, 5, 2, 4, 3), 0)
			},
			func(in []Expr) Expr { return referenceCross(in[0], in[1], in[2], cross(2, 3, 5, 2, 4, 3), 0) }},
	}
	for _, mask := range [][]int{{3, 3}, {2, 3, 3}, {1, 4, 3, 3}} {
		for _, dropout := range []float64{0, 0.3} {
			for _, groups := range []int{0, 1, 2, 4} {
				h := AttentionShape{Batch: 2, Context: 3, Heads: 4, QK: 5, V: 2, Groups: groups}
				cases[fmt.Sprintf(
					"attention, mask %v, dropout %g, groups %d", mask, dropout, groups,
				)] = kernelCase{leaves(1, m(6, h.Width()), mask),
					func(in []Expr) (Expr, bool) { return Attention(in[0], in[1], h, dropout) },
					func(in []Expr) Expr {
						kv := in[0].Columns(20, h.Width())
						switch groups { // every head has its own
						case 1:
							k, v := kv.Columns(0, 5), kv.Columns(5, 7)
							kv = k.Join(k, k, k, v, v, v, v)
						case 2:
							k, l, v, w := kv.Columns(0, 5), kv.Columns(5, 10), kv.Columns(10, 12), kv.Columns(12, 14)
							kv = k.Join(k, l, l, v, v, w, w)
						}
						return referenceCross(in[0].Columns(0, 20), kv, in[1], cross(2, 3, 3, 4, 5, 2), dropout)
					}}
			}
		}
	}
	for _, causal := range []bool{false, true} {
		for name, phi := range map[string]FeatureMap{"elu+1": EluPlusOne(), "taylor": Taylor(0.01)} {
			for _, mask := range [][]int{nil, {3, 3}, {2, 3, 3}} {
				h := LinearShape{
					AttentionShape: AttentionShape{Batch: 2, Context: 3, Heads: 4, QK: 5, V: 2, Groups: 4},
					Causal:         causal, Map: phi,
				}
				c := kernelCase{leaves: leaves(1, m(6, h.Width())),
					kernel: func(in []Expr) (Expr, bool) { return LinearAttention(in[0], in[1], h) },
					plain:  func(in []Expr) Expr { return referenceLinear(in[0], h, name == "taylor", mask) }}
				c.leaves = func(s Scope) ([]Expr, int) {
					in, _ := leaves(1, m(6, h.Width()))(s)
					if mask == nil {
						return append(in, Expr{}), 1
					}
					x := s.Value("mask", Const(0), mask...)
					for i := range x.Tensor().Len() {
						if hidden(i/9, i%3) || i%9 < 3 { // what a mask hides from the first query has no effect
							x.Tensor().Set(i, math.Inf(-1))
						}
					}
					return append(in, x), 1
				}
				cases[fmt.Sprintf("linear attention, causal %t, %s, mask %v", causal, name, mask)] = c
			}
		}
	}
	for _, gates := range []int{2, 6} {
		for _, delta := range []bool{false, true} {
			h := RecurrenceShape{Batch: 2, Context: 3, Heads: 2, QK: 3, V: 4, Delta: delta}
			cases[fmt.Sprintf(
				"recurrence, %d gates, delta rule %t", gates, delta,
			)] = kernelCase{leaves(3, m(6, h.Heads*(2*h.QK+h.V)), m(6, gates), m(6, 2)),
				func(in []Expr) (Expr, bool) {
					y, _, ok := Recurrence(in[0], in[1].Square().Scale(-1), in[2], Expr{}, h)
					return y, ok
				},
				func(in []Expr) Expr { return referenceRecurrence(in[0], in[1].Square().Scale(-1).Exp(), in[2], h) }}
		}
	}
	maps.Copy(cases, rowCases(5))
	return cases
}

// referenceRecurrence is the recurrence token by token, given α.
func referenceRecurrence(qkv, alpha, beta Expr, h RecurrenceShape) Expr {
	gates := alpha.Shape()[1] / h.Heads
	at := func(x Expr, t, from, size int, shape ...int) Expr {
		width := x.Shape()[1]
		x = x.Reshape(h.Batch, h.Context*width).Columns(t*width+from, t*width+from+h.Heads*size)
		return x.Reshape(append([]int{h.Batch, h.Heads}, shape...)...)
	}
	var state Expr
	var y []Expr
	for t := range h.Context {
		q, k := at(qkv, t, 0, h.QK, 1, h.QK), at(qkv, t, h.Heads*h.QK, h.QK, 1, h.QK)
		u := at(qkv, t, 2*h.Heads*h.QK, h.V, 1, h.V)
		up := k.Reshape(h.Batch, h.Heads, h.QK, 1)
		if t == 0 {
			state = up.MatMul(u).Scale(0)
		}
		state = state.Mul(at(alpha, t, 0, gates, gates, 1))
		if h.Delta {
			u = u.Sub(k.MatMul(state))
		}
		state = state.Add(up.MatMul(u.Mul(at(beta, t, 0, 1, 1, 1))))
		y = append(y, q.MatMul(state).Reshape(h.Batch, h.Heads*h.V))
	}
	return y[0].Join(y[1:]...).Reshape(h.Batch*h.Context, h.Heads*h.V)
}

// hidden reports whether the masks of linear attention hide a key from the last query of sequence b.
func hidden(b, key int) bool { return key == 1+b }

// rotated is the equation of Rotate for two groups of four columns.
func rotated(in []Expr) (y Expr) {
	x, cos, sin := in[0], in[1].Gather(in[3]), in[2].Gather(in[3])
	var columns []Expr
	for pair := range 4 {
		a, b := x.Columns(2*pair, 2*pair+1), x.Columns(2*pair+1, 2*pair+2)
		c, s := cos.Columns(pair%2, pair%2+1), sin.Columns(pair%2, pair%2+1)
		columns = append(columns, a.Mul(c).Sub(b.Mul(s)), a.Mul(s).Add(b.Mul(c)))
	}
	return columns[0].Join(append(columns[1:], x.Columns(8, 11))...)
}

// referenceLinear is linear attention with every weight computed explicitly.
func referenceLinear(x Expr, h LinearShape, taylor bool, mask []int) Expr {
	at := 0
	split := func(size int) Expr {
		at += h.Heads * size
		return x.Columns(at-h.Heads*size, at).Reshape(h.Batch, h.Context, h.Heads, size).Transpose(0, 2, 1, 3)
	}
	q, k, v := split(h.QK), split(h.QK), split(h.V)
	var rho Expr
	if taylor {
		hat := func(x Expr) Expr { return x.Div(x.Square().Sum().Shift(0.01).Sqrt()) }
		rho = hat(q).MatMulT(hat(k)).Shift(1)
	} else {
		phi := func(x Expr) Expr { return x.ReLU().Add(x.Scale(-1).ReLU().Scale(-1).Exp()) }
		rho = phi(q).MatMulT(phi(k))
	}
	seen := x.Graph().Root().Value("seen", Const(1), h.Batch, 1, h.Context, h.Context)
	for i := range seen.Tensor().Len() {
		b, query, key := i/9, i/3%3, i%3
		if len(mask) == 2 {
			b = 0
		}
		if h.Causal && key > query || mask != nil && hidden(b, key) {
			seen.Tensor().Set(i, 0)
		}
	}
	rho = rho.Mul(seen)
	return rho.MatMul(v).Div(rho.Sum()).Transpose(0, 2, 1, 3).Reshape(h.Batch*h.Context, h.Heads*h.V)
}

// run returns the value of one form of the case, and its gradients for an upstream gradient that is not 1.
func (c kernelCase) run(t *testing.T, dtype Dtype, kernels bool) (shape []int, out [][]float64) {
	t.Helper()
	g := New(dtype, 7)
	g.Kernels = kernels
	g.SetStep(0)
	in, wrt := c.leaves(g.Root())
	y, ok := c.kernel(in)
	if ok != kernels {
		t.Fatalf("a kernel: %t, want %t", ok, kernels)
	}
	if !ok {
		y = c.plain(in)
	}
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	loss := y.Scale(-1.7)
	if len(y.Shape()) > 0 {
		loss = y.Mul(g.Root().Value("delta", Normal(1), y.Shape()...)).SumAll()
	}
	forward, p := mustCompile(t, y), mustCompile(t, loss, in[:wrt]...)
	for range 2 { // the second run finds the buffers as the first left them
		out = [][]float64{mustRun(t, forward).Value().Floats()}
		mustRun(t, p)
		for _, x := range in[:wrt] {
			out = append(out, p.Grad(x).Floats())
		}
	}
	return y.Shape(), out
}

// Every kernel has the value, the shape and the gradients of its equation, in both types.
func TestKernels(t *testing.T) {
	for name, c := range kernelCases() {
		t.Run(name, func(t *testing.T) {
			shape, want := c.run(t, Float64, false)
			for dtype, tolerance := range map[Dtype]float64{Float64: 1e-12, Float32: 1e-4} {
				got, out := c.run(t, dtype, true)
				if !slices.Equal(got, shape) {
					t.Errorf("%v: the shape is %v, want %v", dtype, got, shape)
				}
				for i := range want {
					near(t, fmt.Sprintf("%v, gradient %d (0 is the value)", dtype, i), out[i], want[i], tolerance)
				}
			}
		})
	}
}

// A gradient does not depend on which other operands a kernel is differentiated by.
func TestKernelsOfFrozenOperands(t *testing.T) {
	for name, c := range kernelCases() {
		_, want := c.run(t, Float64, true)
		for i := range len(want) - 1 {
			g := New(Float64, 7)
			g.SetStep(0)
			in, _ := c.leaves(g.Root())
			y, _ := c.kernel(in)
			loss := y.Scale(-1.7)
			if len(y.Shape()) > 0 {
				loss = y.Mul(g.Root().Value("delta", Normal(1), y.Shape()...)).SumAll()
			}
			p := mustRun(t, mustCompile(t, loss, in[i]))
			near(t, fmt.Sprint(name, ": gradient ", i+1), p.Grad(in[i]).Floats(), want[i+1], 0)
		}
	}
}

// If an operand or the upstream gradient belongs to another graph, the backward pass fails instead of omitting a
// gradient.
func TestBackwardErrors(t *testing.T) {
	for name, c := range kernelCases() {
		g := New(Float64, 7)
		in, wrt := c.leaves(g.Root())
		y, _ := c.kernel(in)
		o, ok := y.Node().Op().(*ops.Op)
		if !ok {
			t.Fatalf("%s: the operation is %v", name, y.Node().Op())
		}
		with := append(operandsOf(y.Node()), y.Node(), y.Node()) // the last one for the upstream gradient
		other := G.NewGraph()
		for i, n := range with {
			changed := slices.Clone(with)
			changed[i] = G.NewTensor(other, n.Dtype(), n.Dims(), G.WithShape(n.Shape()...), G.WithName("other"))
			operands := changed[:len(changed)-2]
			grads, err := o.SymDiff(operands, changed[len(operands)], changed[len(operands)+1])
			for j := range wrt {
				if err == nil && (j >= len(grads) || grads[j] == nil) {
					t.Errorf("%s: operand %d belongs to another graph, and gradient %d is missing without an error",
						name, i, j)
				}
			}
		}
	}
}

// Our own operation only runs in a Program: it returns an error to Gorgonia's machine, and offers nothing to overwrite.
// Its hash is its name's, and it has one gradient per operand.
func TestOp(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Normal(1), 2, 3)
	o, other := x.Reshape(3, 2).Node().Op().(*ops.Op), x.Reshape(3, 2).Node().Op().(*ops.Op)
	if _, err := o.Do(); err == nil || !strings.HasSuffix(err.Error(), "runs only in a Program") {
		t.Errorf("got error %v", err)
	}
	if o.ReturnsPtr() || o.CallsExtern() || o.OverwritesInput() != -1 || o.Arity() != 1 {
		t.Errorf("got %t, %t, %d, %d", o.ReturnsPtr(), o.CallsExtern(), o.OverwritesInput(), o.Arity())
	}
	if hash := o.Hashcode(); hash == other.Hashcode() || hash != o.Hashcode() {
		t.Error("two operations have one hash, or one has two")
	}
	for name, c := range kernelCases() {
		g := New(Float64, 7)
		in, _ := c.leaves(g.Root())
		y, _ := c.kernel(in)
		o := y.Node().Op().(*ops.Op)
		grads, err := o.SymDiff(operandsOf(y.Node()), y.Node(), y.Node())
		if err != nil || len(grads) != o.Arity() {
			t.Fatalf("%s: %d gradients of %d operands, error %v", name, len(grads), o.Arity(), err)
		}
		for i, by := range o.DiffWRT(o.Arity()) {
			if (grads[i] != nil) != by {
				t.Errorf("%s: operand %d is differentiated by: %t, and its gradient is %v", name, i, by, grads[i])
			}
		}
		var planned plan.Op
		if o.Plan(&planned); planned.Out.Len() != max(1, y.Node().Shape().TotalSize()) {
			t.Errorf("%s: %d numbers for shape %v", name, planned.Out.Len(), y.Shape())
		}
	}
}

// excluded is exclusive self-attention of three heads of four features by its formula, with ε = ½.
func excluded(y, v, lambda Expr) Expr {
	ys, vs := y.Reshape(15, 4), v.Reshape(15, 4)
	share := ys.Mul(vs).Sum().Div(vs.Square().Sum().Shift(0.5)).Reshape(5, 3).Mul(lambda).Reshape(15, 1)
	return ys.Sub(vs.Mul(share)).Reshape(5, 12)
}

// balanced is Sinkhorn's normalisation of matrices (s, s), the rows of z, by its divisions.
func balanced(z Expr, s, pairs int, eps float64) Expr {
	n := z.Shape()[0]
	y := z.Reshape(n, s, s).Transpose(0, 2, 1).Softmax()
	for range 2*pairs - 1 {
		y = y.Transpose(0, 2, 1)
		y = y.Div(y.Sum().Shift(eps))
	}
	return y.Reshape(n, s*s)
}
