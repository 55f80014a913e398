package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Linear returns the kernel of y = x·w + b: (n, k)·(k, m) → (n, m). The bias b is optional: it may be empty.
func Linear(x, w, b Expr) (y Expr, ok bool) { return linear("linear", x, w, b, false) }

// LinearT returns the kernel of y = x·wᵀ: (n, k)·(m, k) → (n, m), such as the head tied to the token embedding.
func LinearT(x, w Expr) (y Expr, ok bool) { return linear("linearT", x, w, Expr{}, true) }

// linearOp holds what the passes share: x·W, with the weight W (in, out), or its transpose if it is stored as (out,
// in).
type linearOp struct {
	g          *Graph
	in, out    int
	transposed bool
}

func linear(name string, x, w, b Expr, transposed bool) (y Expr, ok bool) {
	with := present(b)
	m := x.g.packed(w)
	if m == nil || m.transposed != transposed {
		m, with = nil, append([]Expr{w}, with...) // a packed weight is not an operand
	}
	return x.kernel(name, func() (*G.Node, error) {
		l := linearOp{x.g, w.node.Shape()[0], w.node.Shape()[1], transposed}
		if transposed {
			l.in, l.out = l.out, l.in
		}
		if got := x.node.Shape()[1]; got != l.in {
			return nil, errors.Errorf("%d features, the weight takes %d", got, l.in)
		}
		if b.node != nil {
			if got := b.node.Shape().TotalSize(); got != l.out {
				return nil, errors.Errorf("a bias of %d for %d outputs", got, l.out)
			}
		}
		if m != nil {
			return l.packed(m.Packed, append(G.Nodes{x.node}, nodes(with...)...))
		}
		if _, known := x.g.multiplied[w.name]; w.name != "" && !known {
			x.g.multiplied[w.name] = transposed
		}
		return x.g.node(&op{
			name: name, shape: tensor.Shape{x.node.Shape()[0], l.out},
			f32: linearForward[float32](l), f64: linearForward[float64](l), diff: l.backward,
		}, append(G.Nodes{x.node}, nodes(with...)...)...)
	}, with...)
}

// linearWeight returns W.
func linearWeight[T kernel.Float](l linearOp, stored []T) gemm.Matrix[T] {
	if l.transposed {
		return gemm.Mat(stored, l.in).T()
	}
	return gemm.Mat(stored, l.out)
}

func linearForward[T kernel.Float](l linearOp) body[T] {
	products := productsOf[T](l.g)
	return func(y []T, in [][]T) {
		rows, x, w := len(y)/l.out, gemm.Mat(in[0], l.in), linearWeight(l, in[1])
		if len(in) == 2 {
			products.Mul(l.g.pool, rows, l.out, l.in, 1, x, w, 0, gemm.Mat(y, l.out))
			return
		}
		bias := gemm.Matrix[T]{Data: in[2]} // the same row for every token: a stride of 0
		products.MulAdd(l.g.pool, rows, l.out, l.in, 1, x, w, bias, gemm.Mat(y, l.out))
	}
}

// packed returns the product of x with a packed weight, which is not an operand of the graph. The operands are x and,
// if there is one, the bias.
func (l linearOp) packed(w *gemm.Packed, operands G.Nodes) (*G.Node, error) {
	return l.g.node(&op{
		name: "packed linear", shape: tensor.Shape{operands[0].Shape()[0], l.out}, wrt: make([]bool, len(operands)),
		f32: func(y []float32, in [][]float32) {
			var b []float32
			if len(in) > 1 {
				b = in[1]
			}
			gemm.MulPacked(l.g.pool, len(y)/l.out, in[0], w, b, y)
		},
	}, operands...)
}

// backward returns Δx = Δ·Wᵀ, ∂W = xᵀ·Δ, or Δᵀ·x if W is stored transposed, and ∂b = the sum of Δ over the tokens.
func (l linearOp) backward(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	dx, err := l.g.node(&op{
		name: "linear.dx", shape: in[0].Shape(), f32: linearDX[float32](l), f64: linearDX[float64](l),
	}, grad, in[1])
	if err != nil {
		return nil, err
	}
	dw, err := l.g.node(&op{
		name: "linear.dw", shape: in[1].Shape(), f32: linearDW[float32](l), f64: linearDW[float64](l),
	}, in[0], grad)
	if err != nil || len(in) == 2 {
		return G.Nodes{dx, dw}, err
	}
	scratch := &buffer{size: kernel.Parts * l.out}
	db, err := l.g.node(&op{
		name: "linear.db", shape: in[2].Shape(), fills: []*buffer{scratch},
		f32: linearDB[float32](l, scratch), f64: linearDB[float64](l, scratch),
	}, grad)
	return G.Nodes{dx, dw, db}, err
}

func linearDX[T kernel.Float](l linearOp) body[T] {
	products := productsOf[T](l.g)
	return func(dx []T, in [][]T) {
		dy, wT := gemm.Mat(in[0], l.out), linearWeight(l, in[1]).T()
		products.Mul(l.g.pool, len(dx)/l.in, l.in, l.out, 1, dy, wT, 0, gemm.Mat(dx, l.in))
	}
}

func linearDW[T kernel.Float](l linearOp) body[T] {
	products := productsOf[T](l.g)
	return func(dw []T, in [][]T) {
		left, right, rows, cols := in[0], in[1], l.in, l.out
		if l.transposed {
			left, right, rows, cols = right, left, cols, rows
		}
		a, b := gemm.Mat(left, rows).T(), gemm.Mat(right, cols)
		products.Mul(l.g.pool, rows, cols, len(left)/rows, 1, a, b, 0, gemm.Mat(dw, cols))
	}
}

func linearDB[T kernel.Float](l linearOp, scratch *buffer) body[T] {
	return func(db []T, in [][]T) {
		kernel.SumRows(l.g.pool, db, in[0], of[T](scratch))
	}
}
