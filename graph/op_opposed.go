package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// opposed returns x + sign·y, entry by entry, for two expressions of one shape. Where they are opposite infinities,
// whose sum would be NaN, it is limit. The expression y is computed from x: where it is NaN and x is not, as in the
// stock rectifier of −∞, the result is x. The derivatives are those of the sum.
func (x Expr) opposed(name string, sign float64, y Expr, limit float64) Expr {
	return x.apply(name, func() (*G.Node, error) {
		g, shape := x.g, x.node.Shape()
		if !shape.Eq(y.node.Shape()) {
			return nil, errBroadcast
		}
		return g.node(&op{
			name: fmt.Sprintf("opposed(%g,%g)", sign, limit), shape: shape,
			f32: opposed[float32](sign, limit), f64: opposed[float64](sign, limit),
			diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				if sign > 0 {
					return G.Nodes{grad, grad}, nil
				}
				back, err := G.Neg(grad)
				return G.Nodes{grad, back}, err
			},
		}, x.node, y.node)
	}, y)
}

func opposed[T kernel.Float](sign, limit float64) body[T] {
	return func(out []T, in [][]T) {
		for i, v := range in[0] {
			w := T(sign) * in[1][i]
			switch out[i] = v + w; {
			case out[i] == out[i] || v != v:
			case w != w: // y is NaN because x is an infinity
				out[i] = v
			default:
				out[i] = T(limit)
			}
		}
	}
}

// Pick returns x where mask is not 0, and 0 elsewhere, entry by entry. It is the product with a mask of ones and zeros,
// such as OneHot's, except that an infinity in a masked entry does not matter. It is differentiated by x alone.
func (x Expr) Pick(mask Expr) Expr {
	return x.apply("pick", func() (*G.Node, error) {
		if x.node.Dtype() != x.g.dtype || mask.node.Dtype() != x.g.dtype {
			return nil, errors.New("got integers, want floating-point numbers")
		}
		return x.g.pick(x.node, mask.node)
	}, mask)
}

func (g *Graph) pick(x, mask *G.Node) (*G.Node, error) {
	if !x.Shape().Eq(mask.Shape()) {
		return nil, errors.Errorf("got a mask %v, want %v", mask.Shape(), x.Shape())
	}
	return g.node(&op{
		name: "pick", shape: x.Shape(), wrt: []bool{true, false}, f32: pick[float32], f64: pick[float64],
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.pick(grad, in[1])) },
	}, x, mask)
}

func pick[T kernel.Float](out []T, in [][]T) {
	for i, v := range in[0] {
		if out[i] = v; in[1][i] == 0 {
			out[i] = 0
		}
	}
}
