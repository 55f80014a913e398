package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Add returns x + y.
func (b *Builder) Add(x, y *G.Node) (*G.Node, error) {
	return b.node(&Op{
		name: "add", shape: x.Shape(), f32: add[float32](b.Pool), f64: add[float64](b.Pool),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return G.Nodes{grad, grad}, nil },
	}, x, y)
}

func add[T kernel.Float](p *kernel.Pool) body[T] {
	return func(out []T, in [][]T) { kernel.Add(p, out, in[0], in[1]) }
}

// Scale returns c·x.
func (b *Builder) Scale(x *G.Node, c float64) (*G.Node, error) {
	if c == 1 {
		return x, nil
	}
	return b.node(&Op{
		name: fmt.Sprintf("scale(%g)", c), shape: x.Shape(), f32: scale[float32](c), f64: scale[float64](c),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(b.Scale(grad, c)) },
	}, x)
}

func scale[T kernel.Float](c float64) body[T] {
	return func(y []T, in [][]T) { kernel.Scale(y, in[0], T(c)) }
}

// Reshape returns a copy of x in another shape.
func (b *Builder) Reshape(x *G.Node, shape tensor.Shape) (*G.Node, error) {
	return b.node(&Op{
		name: "reshape", shape: shape, f32: copyAll[float32], f64: copyAll[float64],
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(b.Reshape(grad, in[0].Shape())) },
	}, x)
}

// Detach returns a copy of x without a derivative.
func (b *Builder) Detach(x *G.Node) (*G.Node, error) {
	return b.node(&Op{
		name: "detach", shape: x.Shape(), wrt: []bool{false}, f32: copyAll[float32], f64: copyAll[float64],
	}, x)
}

func copyAll[T kernel.Float](out []T, in [][]T) { copy(out, in[0]) }

// Opposed returns x + sign·y, entry by entry. Where they are opposite infinities, whose sum would be NaN, it is limit.
// The operand y is computed from x: where it is NaN and x is not, as in the stock rectifier of −∞, the result is x. The
// derivatives are the sum's.
func (b *Builder) Opposed(x, y *G.Node, sign, limit float64) (*G.Node, error) {
	return b.node(&Op{
		name: fmt.Sprintf("opposed(%g,%g)", sign, limit), shape: x.Shape(),
		f32: opposed[float32](sign, limit), f64: opposed[float64](sign, limit),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			if sign > 0 {
				return G.Nodes{grad, grad}, nil
			}
			back, err := G.Neg(grad)
			return G.Nodes{grad, back}, err
		},
	}, x, y)
}

func opposed[T kernel.Float](sign, limit float64) body[T] {
	return func(out []T, in [][]T) {
		for i, v := range in[0] {
			w := T(T(sign) * in[1][i])
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

// Pick returns x where mask is not 0, and 0 elsewhere.
func (b *Builder) Pick(x, mask *G.Node) (*G.Node, error) {
	return b.node(&Op{
		name: "pick", shape: x.Shape(), wrt: []bool{true, false}, f32: pick[float32], f64: pick[float64],
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(b.Pick(grad, in[1])) },
	}, x, mask)
}

func pick[T kernel.Float](out []T, in [][]T) {
	for i, v := range in[0] {
		if out[i] = v; in[1][i] == 0 {
			out[i] = 0
		}
	}
}

// MulAdd returns scale∘x + shift; lists shorter than x are repeated. Where scale is 0 the result is shift, whatever x
// is, and where scale is 1 and shift 0 it is x, to the bit.
func (b *Builder) MulAdd(x *G.Node, scale, shift []float64) (*G.Node, error) {
	scale, shift = slices.Clone(scale), slices.Clone(shift)
	return b.node(&Op{
		name: "muladd", shape: x.Shape(), f32: mulAdd[float32](scale, shift), f64: mulAdd[float64](scale, shift),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(b.MulAdd(grad, scale, []float64{0})) },
	}, x)
}

func mulAdd[T kernel.Float](scale, shift []float64) body[T] {
	return func(out []T, in [][]T) {
		for i, x := range in[0] {
			out[i] = mulAddOne(x, T(scale[i%len(scale)]), T(shift[i%len(shift)]))
		}
	}
}

// MulAddAt returns MulAdd with row ids[i] of the tables scale and shift for row i of x, a matrix.
func (b *Builder) MulAddAt(x *G.Node, ids IDs, scale, shift []float64) (*G.Node, error) {
	scale, shift = slices.Clone(scale), slices.Clone(shift)
	d := x.Shape()[1]
	return b.node(&Op{
		name: "muladdat", shape: x.Shape(), wrt: []bool{true, false},
		f32: mulAddAt[float32](ids.List, d, scale, shift), f64: mulAddAt[float64](ids.List, d, scale, shift),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(b.MulAddAt(grad, ids, scale, make([]float64, len(shift))))
		},
	}, x, ids.Node)
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

func mulAddOne[T kernel.Float](x, scale, shift T) T {
	switch {
	case scale == 0:
		return shift
	case shift == 0:
		return scale * x
	}
	return T(scale*x) + shift
}

// Erf returns the error function. Its derivative, 2/√π·e^(−x²), consists of stock operations.
func (b *Builder) Erf(x *G.Node) (*G.Node, error) {
	return b.node(&Op{
		name: "erf", shape: x.Shape(), f32: erf[float32], f64: erf[float64],
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(b.erfSlope(in[0], grad)) },
	}, x)
}

func (b *Builder) erfSlope(at, grad *G.Node) (n *G.Node, err error) {
	if n, err = G.Square(at); err != nil {
		return nil, err
	}
	if n, err = G.Neg(n); err != nil {
		return nil, err
	}
	if n, err = G.Exp(n); err != nil {
		return nil, err
	}
	if n, err = G.HadamardProd(n, b.Constant(2/math.Sqrt(math.Pi))); err != nil {
		return nil, err
	}
	return G.HadamardProd(n, grad)
}

func erf[T kernel.Float](out []T, in [][]T) {
	for i, v := range in[0] {
		out[i] = T(math.Erf(float64(v)))
	}
}
