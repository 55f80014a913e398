package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// GELU is the kernel of y = x·Φ(x), Φ the distribution function of the standard normal.
func GELU(x Expr) (y Expr, ok bool) {
	return activation("gelu", x,
		pointwise(kernel.GELU[float32]), pointwise(kernel.GELU[float64]),
		slope(kernel.GELUBackward[float32]), slope(kernel.GELUBackward[float64]))
}

// GELUTanh is the kernel of y = ½x(1 + tanh(√(2/π)(x + 0.044715·x³))).
func GELUTanh(x Expr) (y Expr, ok bool) {
	return activation("gelu_tanh", x,
		pointwise(kernel.GELUTanh[float32]), pointwise(kernel.GELUTanh[float64]),
		slope(kernel.GELUTanhBackward[float32]), slope(kernel.GELUTanhBackward[float64]))
}

// ReLU is the kernel of y = max(x, 0).
func ReLU(x Expr) (y Expr, ok bool) {
	return activation("relu", x,
		pointwise(kernel.ReLU[float32]), pointwise(kernel.ReLU[float64]),
		slope(kernel.ReLUBackward[float32]), slope(kernel.ReLUBackward[float64]))
}

type boundBody[T kernel.Float] func(*kernel.Pool) body[T]

func pointwise[T kernel.Float](f func(p *kernel.Pool, y, x []T)) boundBody[T] {
	return func(p *kernel.Pool) body[T] {
		return func(y []T, in [][]T) error { f(p, y, in[0]); return nil }
	}
}

func slope[T kernel.Float](f func(p *kernel.Pool, dx, x, dy []T)) boundBody[T] {
	return func(p *kernel.Pool) body[T] {
		return func(dx []T, in [][]T) error { f(p, dx, in[0], in[1]); return nil }
	}
}

func activation(name string, x Expr, f32 boundBody[float32], f64 boundBody[float64], d32 boundBody[float32], d64 boundBody[float64]) (Expr, bool) {
	if !x.fused() {
		return Expr{}, false
	}
	return x.apply(name, func() (*G.Node, error) {
		g := x.g
		return g.node(&op{
			name: name, shape: x.node.Shape().Clone(), f32: f32(g.pool), f64: f64(g.pool),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{name: name + ".dx", shape: in[0].Shape().Clone(), f32: d32(g.pool), f64: d64(g.pool)}, in[0], grad))
			},
		}, x.node)
	}), true
}
