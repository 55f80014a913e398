package graph

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Reshape returns the same numbers in another shape. It copies: the stock operation shares memory with its input, which
// Gorgonia's machine overwrites in place, so that x + f(reshape(x)) comes out wrong there.
func (x Expr) Reshape(shape ...int) Expr {
	return x.apply(fmt.Sprintf("reshape to %v", tensor.Shape(shape)), func() (*G.Node, error) {
		return x.g.reshape(x.node, shape)
	})
}

func (g *Graph) reshape(n *G.Node, shape tensor.Shape) (*G.Node, error) {
	if n.Shape().TotalSize() != shape.TotalSize() {
		return nil, errors.Errorf("%d entries cannot become %d", n.Shape().TotalSize(), shape.TotalSize())
	}
	return g.node(&op{
		name: "reshape", shape: shape,
		f32: copyAll[float32], f64: copyAll[float64],
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.reshape(grad, in[0].Shape())) },
	}, n)
}

func copyAll[T kernel.Float](out []T, in [][]T) { copy(out, in[0]) }

func one(n *G.Node, err error) (G.Nodes, error) { return G.Nodes{n}, err }

// Detach returns x as a constant for differentiation: no gradient flows back through the result.
func (x Expr) Detach() Expr {
	return x.apply("detach", func() (*G.Node, error) {
		return x.g.node(&op{
			name: "detach", shape: x.node.Shape(), wrt: []bool{false},
			f32: copyAll[float32], f64: copyAll[float64],
		}, x.node)
	})
}

// Erf returns the error function, which Gorgonia lacks. Its derivative, 2/√π·e^(−x²), consists of stock operations.
func (x Expr) Erf() Expr {
	return x.apply("erf", func() (*G.Node, error) {
		return x.g.node(&op{
			name: "erf", shape: x.node.Shape(), f32: erf[float32], f64: erf[float64],
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(x.erfSlope(in[0], grad)) },
		}, x.node)
	})
}

func (x Expr) erfSlope(at, grad *G.Node) (n *G.Node, err error) {
	if n, err = G.Square(at); err != nil {
		return nil, err
	}
	if n, err = G.Neg(n); err != nil {
		return nil, err
	}
	if n, err = G.Exp(n); err != nil {
		return nil, err
	}
	if n, err = G.HadamardProd(n, x.constant(2/math.Sqrt(math.Pi))); err != nil {
		return nil, err
	}
	return G.HadamardProd(n, grad)
}

func erf[T kernel.Float](out []T, in [][]T) {
	for i, v := range in[0] {
		out[i] = T(math.Erf(float64(v)))
	}
}

// OneHot returns the matrix whose row i is 1 in column ids[i] and 0 elsewhere: (n) → (n, classes). The row of an
// ignored id is all 0.
func (ids Expr) OneHot(classes int) Expr {
	return ids.apply("one-hot", func() (*G.Node, error) {
		if err := ids.ids.check(classes, "classes"); err != nil {
			return nil, err
		}
		list := ids.Ints()
		return ids.g.node(&op{
			name: "onehot", shape: tensor.Shape{ids.count(), classes}, wrt: []bool{false},
			f32: oneHot[float32](list, classes, ids.ids.ignore), f64: oneHot[float64](list, classes, ids.ids.ignore),
		}, ids.node)
	})
}

func oneHot[T kernel.Float](ids []int, classes, ignore int) body[T] {
	return func(out []T, _ [][]T) {
		clear(out)
		for i, id := range ids {
			if id != ignore {
				out[i*classes+id] = 1
			}
		}
	}
}
