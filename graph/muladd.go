package graph

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// MulAdd is scale∘x + shift, entry by entry, with numbers that stay as they are; where there are fewer of them than
// entries they are repeated: those of a row for every row. Where scale is 0 the result is shift, whatever x is, and
// where scale is 1 and shift 0 it is x, to the bit.
func (x Expr) MulAdd(scale, shift []float64) Expr {
	return x.apply("multiply and add", func() (*G.Node, error) {
		if x.node.Dtype() != x.g.dtype {
			return nil, errors.New("integers have no products with numbers")
		}
		for _, list := range [][]float64{scale, shift} {
			if size := max(1, x.node.Shape().TotalSize()); len(list) == 0 || size%len(list) != 0 {
				return nil, errors.Errorf("got %d numbers, want %d or a divisor", len(list), size)
			}
			for i, v := range list {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return nil, errors.Errorf("number %d is %v, want finite ones", i, v)
				}
			}
		}
		return x.g.mulAdd(x.node, slices.Clone(scale), slices.Clone(shift))
	})
}

func (g *Graph) mulAdd(n *G.Node, scale, shift []float64) (*G.Node, error) {
	return g.node(&op{
		name: "muladd", shape: n.Shape(), f32: mulAdd[float32](scale, shift), f64: mulAdd[float64](scale, shift),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.mulAdd(grad, scale, []float64{0})) },
	}, n)
}

func mulAdd[T kernel.Float](scale, shift []float64) body[T] {
	return func(out []T, in [][]T) {
		for i, x := range in[0] {
			switch s, c := T(scale[i%len(scale)]), T(shift[i%len(shift)]); {
			case s == 0:
				out[i] = c
			case c == 0:
				out[i] = s * x
			default:
				out[i] = s*x + c
			}
		}
	}
}
