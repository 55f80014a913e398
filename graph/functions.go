package graph

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func (x Expr) unary(name string, f func(*G.Node) (*G.Node, error)) Expr {
	return x.apply(name, func() (*G.Node, error) { return f(x.node) })
}

// smooth returns stock(x), or f(x) in float32, where the stock operations compute other bits on some processors. df is
// the derivative, of x and f(x).
func (x Expr) smooth(name string, stock func(*G.Node) (*G.Node, error), f func(x float32) float32,
	df func(x, y float32) float32) Expr {
	if x.g == nil || x.node == nil || x.g.ops.Dtype != tensor.Float32 {
		return x.unary(name, stock)
	}
	pool := x.g.ops.Pool
	return x.Apply(Op{name, x.Shape(), Pass[float32]{
		func(y []float32, x [][]float32) {
			pool.Rows(len(y), 1, func(from, to int) {
				for i, v := range x[0][from:to] {
					y[from+i] = f(v)
				}
			})
		},
		func(dx [][]float32, dy, y []float32, x [][]float32) {
			for i, v := range x[0] {
				dx[0][i] = dy[i] * df(v, y[i])
			}
		},
	}, Pass[float64]{}, 1})
}

// Square returns x², entry by entry.
func (x Expr) Square() Expr { return x.unary("square", G.Square) }

// Sqrt returns √x.
func (x Expr) Sqrt() Expr { return x.unary("sqrt", G.Sqrt) }

// Exp returns eˣ.
func (x Expr) Exp() Expr {
	return x.smooth("exp", G.Exp,
		func(x float32) float32 { return float32(elementary.Exp(float64(x))) }, func(_, y float32) float32 { return y })
}

// Log returns ln x.
func (x Expr) Log() Expr {
	return x.smooth("log", G.Log,
		func(x float32) float32 { return float32(elementary.Log(float64(x))) },
		func(x, _ float32) float32 { return 1 / x })
}

// Tanh returns tanh x.
func (x Expr) Tanh() Expr {
	return x.smooth("tanh", G.Tanh, kernel.Tanh[float32],
		func(_, y float32) float32 { return 1 - float32(y*y) })
}

// Cube returns x³.
func (x Expr) Cube() Expr { return x.unary("cube", G.Cube) }

// Erf returns the error function, which Gorgonia lacks. Its derivative, 2/√π·e^(−x²), consists of stock operations.
func (x Expr) Erf() Expr {
	return x.apply("erf", func() (*G.Node, error) { return x.g.ops.Erf(x.node) })
}

// ReLU returns max(x, 0), computed as x + max(−x, 0), which has derivative 0 at 0; the stock operation has 1
// there. ReLU of −∞ is 0.
func (x Expr) ReLU() Expr {
	return x.opposed("add", 1, x.Scale(-1).unary("relu", G.Rectify), 0)
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
