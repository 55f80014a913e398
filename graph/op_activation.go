package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// GELU returns the kernel of y = x·Φ(x), Φ the distribution function of the standard normal. At −∞ it is 0, and at ∞
// its derivative is 1: these are limits, where the equation has NaN.
func GELU(x Expr) (y Expr, ok bool) {
	return activation(x, "gelu",
		entrywise[float32]{kernel.GELU[float32], kernel.GELUBackward[float32]},
		entrywise[float64]{kernel.GELU[float64], kernel.GELUBackward[float64]})
}

// GELUTanh returns the kernel of y = ½x(1 + tanh(√(2/π)(x + 0.044715·x³))). At ±∞ it has the limits, as GELU.
func GELUTanh(x Expr) (y Expr, ok bool) {
	return activation(x, "gelu_tanh",
		entrywise[float32]{kernel.GELUTanh[float32], kernel.GELUTanhBackward[float32]},
		entrywise[float64]{kernel.GELUTanh[float64], kernel.GELUTanhBackward[float64]})
}

// ReLU returns the kernel of Expr.ReLU, y = max(x, 0). Its derivative at NaN is 0, and that of the equation is 1.
func ReLU(x Expr) (y Expr, ok bool) {
	return activation(x, "relu",
		entrywise[float32]{kernel.ReLU[float32], kernel.ReLUBackward[float32]},
		entrywise[float64]{kernel.ReLU[float64], kernel.ReLUBackward[float64]})
}

// entrywise holds the kernels of a function of every entry: the function, and its backward pass, dx from x and dy.
type entrywise[T kernel.Float] struct {
	f    func(p *kernel.Pool, y, x []T)
	back func(p *kernel.Pool, dx, x, dy []T)
}

func activation(x Expr, name string, f32 entrywise[float32], f64 entrywise[float64]) (Expr, bool) {
	return x.kernel(name, func() (*G.Node, error) {
		g := x.g
		return g.node(&op{
			name: name, shape: x.node.Shape(), f32: f32.forward(g.pool), f64: f64.forward(g.pool),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{
					name: name + ".dx", shape: in[0].Shape(), f32: f32.backward(g.pool), f64: f64.backward(g.pool),
				}, in[0], grad))
			},
		}, x.node)
	})
}

func (e entrywise[T]) forward(p *kernel.Pool) body[T] {
	return func(y []T, in [][]T) { e.f(p, y, in[0]) }
}

func (e entrywise[T]) backward(p *kernel.Pool) body[T] {
	return func(dx []T, in [][]T) { e.back(p, dx, in[0], in[1]) }
}
