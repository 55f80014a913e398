package graph

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The operations in this file replace stock ones that give silently wrong results.

// Reshape is the same numbers under another shape. It copies: the stock one shares memory with its input, which the next
// operation may overwrite in place, so that x + f(reshape(x)) comes out wrong.
func (x Expr) Reshape(shape ...int) Expr {
	return x.apply(fmt.Sprintf("reshape to %v", tensor.Shape(shape)), func() (*G.Node, error) { return x.g.reshape(x.node, shape) })
}

func (g *Graph) reshape(n *G.Node, shape tensor.Shape) (*G.Node, error) {
	if n.Shape().TotalSize() != shape.TotalSize() {
		return nil, errors.Errorf("%d entries cannot become %d", n.Shape().TotalSize(), shape.TotalSize())
	}
	return g.node(&op{
		name: "reshape", shape: shape.Clone(),
		f32: copyAll[float32], f64: copyAll[float64],
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.reshape(grad, in[0].Shape())) },
	}, n)
}

func copyAll[T kernel.Float](out []T, in [][]T) error { copy(out, in[0]); return nil }

func one(n *G.Node, err error) (G.Nodes, error) { return G.Nodes{n}, err }

// Cols is columns from … to−1 of a matrix: (n, d) → (n, to−from). The stock slice hashes its bounds modulo 256, so that
// two slices of a wide matrix become the same node.
func (x Expr) Cols(from, to int) Expr {
	return x.apply(fmt.Sprintf("columns %d:%d", from, to), func() (*G.Node, error) {
		shape := x.node.Shape()
		if len(shape) != 2 || from < 0 || from >= to || to > shape[1] {
			return nil, errors.New("no such columns")
		}
		return x.g.cols(x.node, from, to)
	})
}

func (g *Graph) cols(n *G.Node, from, to int) (*G.Node, error) {
	rows, d, w := n.Shape()[0], n.Shape()[1], to-from
	return g.node(&op{
		name: "cols", shape: tensor.Shape{rows, w},
		f32: moveCols[float32](rows, w, w, 0, d, from, false), f64: moveCols[float64](rows, w, w, 0, d, from, false),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.place(grad, from, d)) },
	}, n)
}

// place puts a matrix into columns from … of a wider one that is 0 elsewhere.
func (g *Graph) place(n *G.Node, from, d int) (*G.Node, error) {
	rows, w := n.Shape()[0], n.Shape()[1]
	return g.node(&op{
		name: "place", shape: tensor.Shape{rows, d},
		f32: moveCols[float32](rows, w, d, from, w, 0, true), f64: moveCols[float64](rows, w, d, from, w, 0, true),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.cols(grad, from, from+w)) },
	}, n)
}

func moveCols[T kernel.Float](rows, w, outStride, outAt, inStride, inAt int, zero bool) body[T] {
	return func(out []T, in [][]T) error {
		if zero {
			clear(out)
		}
		for i := range rows {
			copy(out[i*outStride+outAt:][:w], in[0][i*inStride+inAt:])
		}
		return nil
	}
}

// Join puts matrices of equally many rows side by side: (n, a), (n, b), … → (n, a+b+…). The stock Concat goes through
// the stock slice in its backward pass.
func (x Expr) Join(others ...Expr) Expr {
	return x.apply("join", func() (*G.Node, error) {
		children := G.Nodes{x.node}
		d := x.node.Shape()[1]
		for _, y := range others {
			if y.node.Shape()[0] != x.node.Shape()[0] {
				return nil, errors.Errorf("%d and %d rows", x.node.Shape()[0], y.node.Shape()[0])
			}
			children = append(children, y.node)
			d += y.node.Shape()[1]
		}
		return x.g.join(children, d)
	}, others...)
}

func (g *Graph) join(children G.Nodes, d int) (*G.Node, error) {
	rows := children[0].Shape()[0]
	return g.node(&op{
		name: "join", shape: tensor.Shape{rows, d},
		f32: joinCols[float32](rows, d), f64: joinCols[float64](rows, d),
		diff: func(in G.Nodes, _, grad *G.Node) (grads G.Nodes, err error) {
			at := 0
			for _, c := range in {
				part, err := g.cols(grad, at, at+c.Shape()[1])
				if err != nil {
					return nil, err
				}
				grads = append(grads, part)
				at += c.Shape()[1]
			}
			return grads, nil
		},
	}, children...)
}

func joinCols[T kernel.Float](rows, d int) body[T] {
	return func(out []T, in [][]T) error {
		at := 0
		for _, x := range in {
			w := len(x) / rows
			for i := range rows {
				copy(out[i*d+at:][:w], x[i*w:])
			}
			at += w
		}
		return nil
	}
}

// RowMax is the maximum over the last axis, kept with size 1, as a constant for differentiation. The stock softmax
// starts its maximum at the tensor's very first entry and skips column 0.
func (x Expr) RowMax() Expr {
	return x.apply("row max", func() (*G.Node, error) {
		shape := x.node.Shape().Clone()
		d := shape[len(shape)-1]
		shape[len(shape)-1] = 1
		return x.g.node(&op{name: "rowmax", shape: shape, wrt: []bool{false}, f32: rowMax[float32](d), f64: rowMax[float64](d)}, x.node)
	})
}

func rowMax[T kernel.Float](d int) body[T] {
	return func(out []T, in [][]T) error {
		for i := range out {
			row := in[0][i*d : (i+1)*d]
			out[i] = row[0]
			for _, v := range row[1:] {
				out[i] = max(out[i], v)
			}
		}
		return nil
	}
}

// Erf is the error function, which Gorgonia lacks; its derivative, 2/√π·e^(−x²), is spelled in stock operations.
func (x Expr) Erf() Expr {
	return x.apply("erf", func() (*G.Node, error) {
		return x.g.node(&op{
			name: "erf", shape: x.node.Shape().Clone(), f32: erf[float32], f64: erf[float64],
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

func erf[T kernel.Float](out []T, in [][]T) error {
	for i, v := range in[0] {
		out[i] = T(math.Erf(float64(v)))
	}
	return nil
}

// OneHot is the matrix whose row i is 1 in column ids[i] and 0 elsewhere; a row whose id is the ignored one is all 0:
// (n) → (n, classes).
func (ids Expr) OneHot(classes int) Expr {
	return ids.apply("one-hot", func() (*G.Node, error) {
		if err := ids.ids.check(classes, "classes"); err != nil {
			return nil, err
		}
		list := ids.Ints()
		return ids.g.node(&op{
			name: "onehot", shape: tensor.Shape{len(list), classes}, wrt: []bool{false},
			f32: oneHot[float32](list, classes, ids.ids.ignore), f64: oneHot[float64](list, classes, ids.ids.ignore),
		}, ids.node)
	})
}

func oneHot[T kernel.Float](ids []int, classes, ignore int) body[T] {
	return func(out []T, _ [][]T) error {
		clear(out)
		for i, id := range ids {
			if id != ignore {
				out[i*classes+id] = 1
			}
		}
		return nil
	}
}
