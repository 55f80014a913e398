package graph

import (
	"math"

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

// Sigmoid returns the kernel of Expr.Sigmoid, y = σ(x) = 1/(1 + e^(−x)).
func Sigmoid(x Expr) (y Expr, ok bool) {
	return activation(x, "sigmoid",
		entrywise[float32]{kernel.Sigmoid[float32], kernel.SigmoidBackward[float32]},
		entrywise[float64]{kernel.Sigmoid[float64], kernel.SigmoidBackward[float64]})
}

// SiLU returns the kernel of y = x·σ(x). At ±∞ it has the limits, as GELU. The derivative of the equation is rounded as
// coarsely as x, and lost where x is large; the kernel keeps it.
func SiLU(x Expr) (y Expr, ok bool) {
	return activation(x, "silu",
		entrywise[float32]{kernel.SiLU[float32], kernel.SiLUBackward[float32]},
		entrywise[float64]{kernel.SiLU[float64], kernel.SiLUBackward[float64]})
}

// Softplus returns the kernel of Expr.Softplus, y = ln(1 + eˣ).
func Softplus(x Expr) (y Expr, ok bool) {
	return activation(x, "softplus",
		entrywise[float32]{kernel.Softplus[float32], kernel.SoftplusBackward[float32]},
		entrywise[float64]{kernel.Softplus[float64], kernel.SoftplusBackward[float64]})
}

// Sigmoid returns the logistic function σ(x) = 1/(1 + e^(−x)), computed as e^min(x, 0)/(1 + e^(−|x|)), in which nothing
// overflows or cancels: it is 0 at −∞ and 1 at ∞, with derivative 0. The stock sigmoid is 1 from 19 on in float64, from
// 15 on in float32, and its derivative is 0 there.
func (x Expr) Sigmoid() Expr {
	top := x.ReLU()
	least := x.opposed("sub", -1, top, 0)                    // min(x, 0)
	away := x.opposed("sub", -1, top.Scale(2), math.Inf(-1)) // −|x|
	return least.Exp().Div(away.Exp().Shift(1))
}

// Softplus returns ln(1 + eˣ), computed as max(x, 0) + ln(1 + e^(−|x|)), in which nothing overflows: it is 0 at −∞ and
// ∞ at ∞. Its derivative is σ(x). The stock softplus is x from 16 on in float64, which is 1e-7 less.
func (x Expr) Softplus() Expr {
	top := x.ReLU()
	return x.opposed("sub", -1, top.Scale(2), math.Inf(-1)).Exp().Shift(1).Log().Add(top) // Exp is of −|x|
}
