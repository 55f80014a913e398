package graph

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func (x Expr) unary(name string, f func(*G.Node) (*G.Node, error)) Expr {
	return x.apply(name, func() (*G.Node, error) { return f(x.node) })
}

// smooth returns stock(x), or f(x) in float32, where the stock operations compute other bits on some processors. df is the
// derivative, of x and f(x).
func (x Expr) smooth(name string, stock func(*G.Node) (*G.Node, error), f func(float64) float64,
	df func(x, y float64) float64) Expr {
	if x.g == nil || x.node == nil || x.g.ops.Dtype != tensor.Float32 {
		return x.unary(name, stock)
	}
	return x.Apply(Op{name, x.Shape(), Pass[float32]{
		func(y []float32, x [][]float32) {
			for i, v := range x[0] {
				y[i] = float32(f(float64(v)))
			}
		},
		func(dx [][]float32, dy, y []float32, x [][]float32) {
			for i, v := range x[0] {
				dx[0][i] = dy[i] * float32(df(float64(v), float64(y[i])))
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
	return x.smooth("exp", G.Exp, elementary.Exp, func(_, y float64) float64 { return y })
}

// Log returns ln x.
func (x Expr) Log() Expr {
	return x.smooth("log", G.Log, elementary.Log, func(x, _ float64) float64 { return 1 / x })
}

// Tanh returns tanh x.
func (x Expr) Tanh() Expr {
	return x.smooth("tanh", G.Tanh, elementary.Tanh, func(_, y float64) float64 { return 1 - float64(y*y) })
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

func activation(x Expr, f ops.Activation) (Expr, bool) {
	return x.kernel(f.Name, func() (*G.Node, error) { return x.g.ops.Activate(x.node, f) })
}

// GELU returns the kernel of y = x·Φ(x), Φ the distribution function of the standard normal. At −∞ it is 0, and at ∞
// its derivative is 1: these are limits, where the equation has NaN.
func GELU(x Expr) (y Expr, ok bool) { return activation(x, ops.GELU()) }

// GELUTanh returns the kernel of y = ½x(1 + tanh(√(2/π)(x + 0.044715·x³))). At ±∞ it has the limits, as GELU.
func GELUTanh(x Expr) (y Expr, ok bool) { return activation(x, ops.GELUTanh()) }

// ReLU returns the kernel of Expr.ReLU, y = max(x, 0). Its derivative at NaN is 0, where the equation's is 1.
func ReLU(x Expr) (y Expr, ok bool) { return activation(x, ops.ReLU()) }

// ReLU2 returns the kernel of y = max(x, 0)².
func ReLU2(x Expr) (y Expr, ok bool) { return activation(x, ops.ReLU2()) }

// Sigmoid returns the kernel of Expr.Sigmoid, y = σ(x) = 1/(1 + e^(−x)).
func Sigmoid(x Expr) (y Expr, ok bool) { return activation(x, ops.Sigmoid()) }

// SiLU returns the kernel of y = x·σ(x). At ±∞ it has the limits, as GELU. The derivative of the equation is rounded as
// coarsely as x, and lost where x is large; the kernel keeps it.
func SiLU(x Expr) (y Expr, ok bool) { return activation(x, ops.SiLU()) }

// Softplus returns the kernel of Expr.Softplus, y = ln(1 + eˣ).
func Softplus(x Expr) (y Expr, ok bool) { return activation(x, ops.Softplus()) }

// gated returns the kernel of y = f(gate)∘up, all of shape (n, f). Its backward pass needs only the operands.
func gated(gate, up Expr, f ops.Gate) (y Expr, ok bool) {
	return gate.kernel(f.Name, func() (*G.Node, error) {
		if got, want := up.node.Shape(), gate.node.Shape(); !got.Eq(want) {
			return nil, errors.Errorf("up: got shape %v, want that of the gate, %v", got, want)
		}
		return gate.g.ops.Gate(gate.node, up.node, f)
	}, up)
}

// SwiGLU returns the kernel of y = gate∘σ(gate)∘up, all of shape (n, f). Large gates are as in SiLU.
func SwiGLU(gate, up Expr) (y Expr, ok bool) { return gated(gate, up, ops.SwiGLU()) }

// GLU is like SwiGLU with Sigmoid: y = σ(gate)∘up.
func GLU(gate, up Expr) (y Expr, ok bool) { return gated(gate, up, ops.Gated("glu", ops.Sigmoid())) }

// GEGLU is like SwiGLU with GELU: y = gate∘Φ(gate)∘up.
func GEGLU(gate, up Expr) (y Expr, ok bool) { return gated(gate, up, ops.Gated("geglu", ops.GELU())) }

// GEGLUTanh is like SwiGLU with GELUTanh.
func GEGLUTanh(gate, up Expr) (y Expr, ok bool) {
	return gated(gate, up, ops.Gated("geglu_tanh", ops.GELUTanh()))
}

// ReGLU is like SwiGLU with ReLU: y = max(gate, 0)∘up.
func ReGLU(gate, up Expr) (y Expr, ok bool) { return gated(gate, up, ops.Gated("reglu", ops.ReLU())) }

// norm returns the operation on the rows of x (n, d) with optional gains w (1, d) and shifts b (1, d).
func norm(f ops.Norm, x, w, b Expr, eps float64) (y Expr, ok bool) {
	params := present(w, b)
	return x.kernel(f.Name, func() (*G.Node, error) {
		if b.g != nil && w.g == nil {
			return nil, errors.New("shifts without gains")
		}
		if !(eps >= 0 && eps <= math.MaxFloat64) {
			return nil, errors.Errorf("eps: got %v, want at least 0", eps)
		}
		d := x.node.Shape()[1]
		for i, e := range params {
			if got := e.node.Shape().TotalSize(); got != d {
				return nil, errors.Errorf("%d %s for %d features", got, []string{"gains", "shifts"}[i], d)
			}
		}
		return x.g.ops.Normalize(f, x.node, nodes(params...), eps)
	}, params...)
}

// LayerNorm returns the kernel of y = (x − μ)/√(σ² + eps)∘w + b over the rows of x (n, d), with optional w (1, d) and b
// (1, d). It is an error if b is given without w. The squares of a row may overflow in the kernel and not in the
// equation, or the other way round: then results that are not finite differ.
func LayerNorm(x, w, b Expr, eps float64) (y Expr, ok bool) {
	return norm(ops.LayerNorm(), x, w, b, eps)
}

// LayerNormSigma returns the kernel of y = (x − μ)/(σ + eps)∘w + b, with eps outside the root instead of inside.
// Otherwise it is like LayerNorm. The gradient of a row with σ = 0 is not finite.
func LayerNormSigma(x, w, b Expr, eps float64) (y Expr, ok bool) {
	return norm(ops.LayerNormSigma(), x, w, b, eps)
}

// RMSNorm returns the kernel of y = x/√(mean(x²) + eps)∘w over the rows of x (n, d), with optional w (1, d). Squares
// overflow as in LayerNorm.
func RMSNorm(x, w Expr, eps float64) (y Expr, ok bool) { return norm(ops.RMSNorm(), x, w, Expr{}, eps) }

// QKNorm returns the kernel of a norm of groups of columns of x (n, w), each group of a row separately, as RMSNorm with
// its gains: first the given number of groups of len(wq) columns, then groups of len(wk). It leaves the other columns
// unchanged.
func QKNorm(x, wq, wk Expr, queries, keys int, eps float64) (y Expr, ok bool) {
	return x.kernel("qknorm", func() (*G.Node, error) {
		if !(eps >= 0 && eps <= math.MaxFloat64) {
			return nil, errors.Errorf("eps: got %v, want at least 0", eps)
		}
		shape, q, k := x.node.Shape(), wq.node.Shape().TotalSize(), wk.node.Shape().TotalSize()
		if len(shape) != 2 || queries < 1 || keys < 1 || queries > shape[1]/q || keys > (shape[1]-queries*q)/k {
			return nil, errors.Errorf("%v does not begin with %d groups of %d columns and %d of %d",
				shape, queries, q, keys, k)
		}
		return x.g.ops.QKNorm(x.node, wq.node, wk.node, [2]int{queries, keys}, eps)
	}, wq, wk)
}
