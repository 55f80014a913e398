package graph

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// MulAdd returns scale∘x + shift, entry by entry, with constant numbers. Lists shorter than x are repeated: a list as
// long as a row applies to every row. Where scale is 0 the result is shift, whatever x is, and where scale is 1 and
// shift 0 it is x, to the bit.
func (x Expr) MulAdd(scale, shift []float64) Expr {
	return x.apply("multiply and add", func() (*G.Node, error) {
		if x.node.Dtype() != x.g.dtype {
			return nil, errors.New("got integers, want floating-point numbers")
		}
		for _, list := range [][]float64{scale, shift} {
			if size := max(1, x.node.Shape().TotalSize()); len(list) == 0 || size%len(list) != 0 {
				return nil, errors.Errorf("got %d numbers, want %d or a divisor", len(list), size)
			}
			if err := finite(list); err != nil {
				return nil, err
			}
		}
		return x.g.mulAdd(x.node, slices.Clone(scale), slices.Clone(shift))
	})
}

// MulAddAt returns MulAdd with row ids[i] of the tables scale and shift for row i of x, a matrix. The tables have a
// row, as long as x's, for every possible id.
func (x Expr) MulAddAt(ids Expr, scale, shift []float64) Expr {
	return x.apply("multiply and add", func() (*G.Node, error) {
		s := x.node.Shape()
		if len(s) != 2 || x.node.Dtype() != x.g.dtype {
			return nil, errors.Errorf("got %v, want a matrix of numbers", s)
		}
		for _, list := range [][]float64{scale, shift} {
			if len(list)%s[1] != 0 {
				return nil, errors.Errorf("got %d numbers, want rows of %d", len(list), s[1])
			}
			if err := ids.ids.check(len(list)/s[1], "rows"); err != nil {
				return nil, err
			}
			if err := finite(list); err != nil {
				return nil, err
			}
		}
		if ids.count() != s[0] {
			return nil, errors.Errorf("got %d ids, want %d, one per row", ids.count(), s[0])
		}
		ids.ids.isLookup = true
		return x.g.mulAddAt(x.node, ids, slices.Clone(scale), slices.Clone(shift))
	}, ids)
}

func (g *Graph) mulAddAt(n *G.Node, ids Expr, scale, shift []float64) (*G.Node, error) {
	d, list := n.Shape()[1], ids.Ints()
	return g.node(&op{
		name: "muladdat", shape: n.Shape(), wrt: []bool{true, false},
		f32: mulAddAt[float32](list, d, scale, shift), f64: mulAddAt[float64](list, d, scale, shift),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(g.mulAddAt(grad, ids, scale, make([]float64, len(shift))))
		},
	}, n, ids.node)
}

func mulAddAt[T kernel.Float](ids []int, d int, scale, shift []float64) body[T] {
	return func(out []T, in [][]T) {
		for i, id := range ids {
			for j := range d {
				out[i*d+j] = mulAddOne(in[0][i*d+j], T(scale[id*d+j]), T(shift[id*d+j]))
			}
		}
	}
}

func finite(list []float64) error {
	for i, v := range list {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.Errorf("number %d is %v, want finite numbers", i, v)
		}
	}
	return nil
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
			out[i] = mulAddOne(x, T(scale[i%len(scale)]), T(shift[i%len(shift)]))
		}
	}
}

func mulAddOne[T kernel.Float](x, scale, shift T) T {
	switch {
	case scale == 0:
		return shift
	case shift == 0:
		return scale * x
	}
	return scale*x + shift
}
