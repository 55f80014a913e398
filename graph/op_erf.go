package graph

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Erf is the error function, which Gorgonia lacks; its derivative, 2/√π·e^(−x²), is made of stock operations.
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
