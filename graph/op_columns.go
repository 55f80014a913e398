package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Cols returns columns from … to−1 of a matrix: (n, d) → (n, to−from). The stock slice hashes its bounds modulo 256, so
// two slices of a wide matrix can become the same node.
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

// place returns a matrix of width d with n in the columns from … and 0 elsewhere, for the backward pass.
func (g *Graph) place(n *G.Node, from, d int) (*G.Node, error) {
	rows, w := n.Shape()[0], n.Shape()[1]
	return g.node(&op{
		name: "place", shape: tensor.Shape{rows, d},
		f32: moveCols[float32](rows, w, d, from, w, 0, true), f64: moveCols[float64](rows, w, d, from, w, 0, true),
	}, n)
}

func moveCols[T kernel.Float](rows, w, outStride, outAt, inStride, inAt int, zero bool) body[T] {
	return func(out []T, in [][]T) {
		if zero {
			clear(out)
		}
		for i := range rows {
			copy(out[i*outStride+outAt:][:w], in[0][i*inStride+inAt:])
		}
	}
}

// Join returns matrices with the same number of rows side by side: (n, a), (n, b), … → (n, a+b+…). The stock Concat
// uses the stock slice in its backward pass.
func (x Expr) Join(others ...Expr) Expr {
	return x.apply("join", func() (*G.Node, error) {
		g, rows, d := x.g, x.node.Shape()[0], x.node.Shape()[1]
		for _, y := range others {
			if n := y.node.Shape()[0]; n != rows {
				return nil, errors.Errorf("%d and %d rows", rows, n)
			}
			d += y.node.Shape()[1]
		}
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
		}, append(G.Nodes{x.node}, nodes(others...)...)...)
	}, others...)
}

func joinCols[T kernel.Float](rows, d int) body[T] {
	return func(out []T, in [][]T) {
		at := 0
		for _, x := range in {
			w := len(x) / rows
			for i := range rows {
				copy(out[i*d+at:][:w], x[i*w:])
			}
			at += w
		}
	}
}
