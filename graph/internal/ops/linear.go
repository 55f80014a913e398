package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// linearOp holds what the passes share: x·W, with the weight W (in, out), or its transpose if it is stored as (out,
// in).
type linearOp struct {
	b          *Builder
	pool       *kernel.Pool
	in, out    int
	transposed bool
}

// Linear returns x·w + bias: (n, k)·(k, m) → (n, m). The bias may be nil.
func (b *Builder) Linear(x, w, bias *G.Node) (*G.Node, error) {
	s := w.Shape()
	return b.linear("linear", linearOp{b, b.Pool, s[0], s[1], false}, append(G.Nodes{x, w}, present(bias)...))
}

// LinearT returns x·wᵀ: (n, k)·(m, k) → (n, m).
func (b *Builder) LinearT(x, w *G.Node) (*G.Node, error) {
	s := w.Shape()
	return b.linear("linearT", linearOp{b, b.Pool, s[1], s[0], true}, G.Nodes{x, w})
}

func (b *Builder) linear(name string, l linearOp, operands G.Nodes) (*G.Node, error) {
	return b.node(&Op{
		name: name, shape: tensor.Shape{operands[0].Shape()[0], l.out},
		f32: linearForward[float32](l), f64: linearForward[float64](l), diff: l.backward,
	}, operands...)
}

// linearWeight returns W.
func linearWeight[T kernel.Float](l linearOp, stored []T) gemm.Matrix[T] {
	if l.transposed {
		return gemm.Mat(stored, l.in).T()
	}
	return gemm.Mat(stored, l.out)
}

func linearForward[T kernel.Float](l linearOp) body[T] {
	products := productsOf[T](l.b)
	return func(y []T, in [][]T) {
		rows, x, w := len(y)/l.out, gemm.Mat(in[0], l.in), linearWeight(l, in[1])
		if len(in) == 2 {
			products.Mul(l.pool, rows, l.out, l.in, 1, x, w, 0, gemm.Mat(y, l.out))
			return
		}
		bias := gemm.Matrix[T]{Data: in[2]} // the same row for every token: a stride of 0
		products.MulAdd(l.pool, rows, l.out, l.in, 1, x, w, bias, gemm.Mat(y, l.out))
	}
}

// backward returns Δx = Δ·Wᵀ, ∂W = xᵀ·Δ, or Δᵀ·x if W is stored transposed, and ∂b = the sum of Δ over the tokens.
func (l linearOp) backward(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	dx, err := l.b.node(&Op{
		name: "linear.dx", shape: in[0].Shape(), f32: linearDX[float32](l), f64: linearDX[float64](l),
	}, grad, in[1])
	if err != nil {
		return nil, err
	}
	dw, err := l.b.node(&Op{
		name: "linear.dw", shape: in[1].Shape(), f32: linearDW[float32](l), f64: linearDW[float64](l),
	}, in[0], grad)
	if err != nil || len(in) == 2 {
		return G.Nodes{dx, dw}, err
	}
	scratch := &buffer{size: kernel.Parts * l.out}
	db, err := l.b.node(&Op{
		name: "linear.db", shape: in[2].Shape(), fills: []*buffer{scratch},
		f32: linearDB[float32](l, scratch), f64: linearDB[float64](l, scratch),
	}, grad)
	return G.Nodes{dx, dw, db}, err
}

func linearDX[T kernel.Float](l linearOp) body[T] {
	products := productsOf[T](l.b)
	return func(dx []T, in [][]T) {
		dy, wT := gemm.Mat(in[0], l.out), linearWeight(l, in[1]).T()
		products.Mul(l.pool, len(dx)/l.in, l.in, l.out, 1, dy, wT, 0, gemm.Mat(dx, l.in))
	}
}

func linearDW[T kernel.Float](l linearOp) body[T] {
	products := productsOf[T](l.b)
	return func(dw []T, in [][]T) {
		left, right, rows, cols := in[0], in[1], l.in, l.out
		if l.transposed {
			left, right, rows, cols = right, left, cols, rows
		}
		x, dy := gemm.Mat(left, rows).T(), gemm.Mat(right, cols)
		products.Mul(l.pool, rows, cols, len(left)/rows, 1, x, dy, 0, gemm.Mat(dw, cols))
	}
}

func linearDB[T kernel.Float](l linearOp, scratch *buffer) body[T] {
	return func(db []T, in [][]T) {
		kernel.SumRows(l.pool, db, in[0], of[T](scratch))
	}
}

// Weights is a matrix (K, N) that is stored in fewer bits, and no operand of the graph.
type Weights interface {
	Size() (k, n int)
	MulAdd(p *kernel.Pool, m int, x, bias, y []float32) // y = x·w + bias, which may be nil
	Column(dst []float32, j int)
	Unpack(m gemm.Matrix[float32])
	Bytes() int
}

// PackedLinear returns the product of x with a packed weight, which is not an operand of the graph, plus the bias,
// which may be nil. It has no derivative.
func (b *Builder) PackedLinear(x *G.Node, w Weights, bias *G.Node) (*G.Node, error) {
	_, out := w.Size()
	pool, operands := b.Pool, append(G.Nodes{x}, present(bias)...)
	return b.node(&Op{
		name: "packed linear", shape: tensor.Shape{x.Shape()[0], out}, wrt: make([]bool, len(operands)),
		f32: func(y []float32, in [][]float32) {
			var bias []float32
			if len(in) > 1 {
				bias = in[1]
			}
			w.MulAdd(pool, len(y)/out, in[0], bias, y)
		},
	}, operands...)
}
