package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Linear is the kernel of y = x·w + b: (n, k)·(k, m) → (n, m). An empty b means none.
func Linear(x, w, b Expr) (y Expr, ok bool) { return linear("linear", x, w, b, false) }

// LinearT is the kernel of y = x·wᵀ: (n, k)·(m, k) → (n, m), such as the head that is tied to the token embedding.
func LinearT(x, w Expr) (y Expr, ok bool) { return linear("linearT", x, w, Expr{}, true) }

func linear(name string, x, w, b Expr, transposed bool) (y Expr, ok bool) {
	bias := present(b)
	return x.kernel(name, func() (*G.Node, error) {
		in, out := w.node.Shape()[0], w.node.Shape()[1]
		if transposed {
			in, out = out, in
		}
		if got := x.node.Shape()[1]; got != in {
			return nil, errors.Errorf("%d features, the weight takes %d", got, in)
		}
		if b.node != nil {
			if got := b.node.Shape().TotalSize(); got != out {
				return nil, errors.Errorf("a bias of %d for %d outputs", got, out)
			}
		}
		return x.g.node(&op{
			name: name, shape: tensor.Shape{x.node.Shape()[0], out},
			f32: linearForward[float32](x.g.pool, in, out, transposed), f64: linearForward[float64](x.g.pool, in, out, transposed),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return x.g.linearBackward(in, grad, transposed) },
		}, append(G.Nodes{x.node, w.node}, nodes(bias...)...)...)
	}, append([]Expr{w}, bias...)...)
}

func linearForward[T kernel.Float](p *kernel.Pool, in, out int, transposed bool) body[T] {
	return func(y []T, args [][]T) error {
		w := gemm.Mat(args[1], out)
		if transposed {
			w = gemm.Mat(args[1], in).T()
		}
		if len(args) == 2 {
			gemm.Mul(p, len(y)/out, out, in, 1, gemm.Mat(args[0], in), w, 0, gemm.Mat(y, out))
			return nil
		}
		bias := gemm.Matrix[T]{Data: args[2]} // the same row for every token: a stride of 0
		gemm.MulAdd(p, len(y)/out, out, in, 1, gemm.Mat(args[0], in), w, bias, gemm.Mat(y, out))
		return nil
	}
}

// linearBackward: Δx = Δ·wᵀ, ∂w = xᵀ·Δ, ∂b = the sum of Δ over the tokens; for the transposed weight Δx = Δ·w and
// ∂w = Δᵀ·x.
func (g *Graph) linearBackward(in G.Nodes, grad *G.Node, transposed bool) (G.Nodes, error) {
	x, w := in[0], in[1]
	dx, err := g.node(&op{
		name: "linear.dx", shape: x.Shape().Clone(),
		f32: linearDX[float32](g.pool, w.Shape(), transposed), f64: linearDX[float64](g.pool, w.Shape(), transposed),
	}, grad, w)
	if err != nil {
		return nil, err
	}
	dw, err := g.node(&op{
		name: "linear.dw", shape: w.Shape().Clone(),
		f32: linearDW[float32](g.pool, w.Shape(), transposed), f64: linearDW[float64](g.pool, w.Shape(), transposed),
	}, x, grad)
	if err != nil || len(in) == 2 {
		return G.Nodes{dx, dw}, err
	}
	scratch := &buffer{size: kernel.Parts * in[2].Shape().TotalSize()}
	db, err := g.node(&op{
		name: "linear.db", shape: in[2].Shape().Clone(), fills: []*buffer{scratch},
		f32: linearDB[float32](g.pool, scratch), f64: linearDB[float64](g.pool, scratch),
	}, grad)
	return G.Nodes{dx, dw, db}, err
}

func linearDX[T kernel.Float](p *kernel.Pool, w tensor.Shape, transposed bool) body[T] {
	return func(dx []T, in [][]T) error {
		weight := gemm.Mat(in[1], w[1])
		k, m := w[0], w[1]
		if transposed {
			k, m = m, k
		} else {
			weight = weight.T()
		}
		gemm.Mul(p, len(dx)/k, k, m, 1, gemm.Mat(in[0], m), weight, 0, gemm.Mat(dx, k))
		return nil
	}
}

func linearDW[T kernel.Float](p *kernel.Pool, w tensor.Shape, transposed bool) body[T] {
	return func(dw []T, in [][]T) error {
		left, right := in[0], in[1]
		if transposed {
			left, right = right, left
		}
		gemm.Mul(p, w[0], w[1], len(left)/w[0], 1, gemm.Mat(left, w[0]).T(), gemm.Mat(right, w[1]), 0, gemm.Mat(dw, w[1]))
		return nil
	}
}

func linearDB[T kernel.Float](p *kernel.Pool, scratch *buffer) body[T] {
	return func(out []T, in [][]T) error {
		kernel.SumRows(p, out, in[0], of[T](scratch))
		return nil
	}
}
