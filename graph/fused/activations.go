package fused

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

func activation(x graph.Expr, f ops.Activation) (graph.Expr, bool) {
	return x.Kernel(f.Name, func(g *ops.Builder) (*ops.Node, error) { return g.Activate(x.Operand(), f) })
}

// GELU returns the kernel of y = x·Φ(x), Φ the distribution function of the standard normal. At −∞ it is 0, and at ∞
// its derivative is 1: these are limits, where the equation has NaN.
func GELU(x graph.Expr) (y graph.Expr, ok bool) { return activation(x, ops.GELU()) }

// GELUTanh returns the kernel of y = ½x(1 + tanh(√(2/π)(x + 0.044715·x³))). At ±∞ it has the limits, as GELU.
func GELUTanh(x graph.Expr) (y graph.Expr, ok bool) { return activation(x, ops.GELUTanh()) }

// ReLU returns the kernel of Expr.ReLU, y = max(x, 0). Its derivative at NaN is 0, where the equation's is 1.
func ReLU(x graph.Expr) (y graph.Expr, ok bool) { return activation(x, ops.ReLU()) }

// ReLU2 returns the kernel of y = max(x, 0)².
func ReLU2(x graph.Expr) (y graph.Expr, ok bool) { return activation(x, ops.ReLU2()) }

// Sigmoid returns the kernel of Expr.Sigmoid, y = σ(x) = 1/(1 + e^(−x)).
func Sigmoid(x graph.Expr) (y graph.Expr, ok bool) { return activation(x, ops.Sigmoid()) }

// SiLU returns the kernel of y = x·σ(x). At ±∞ it has the limits, as GELU. The derivative of the equation is rounded as
// coarsely as x, and lost where x is large; the kernel keeps it.
func SiLU(x graph.Expr) (y graph.Expr, ok bool) { return activation(x, ops.SiLU()) }

// Softplus returns the kernel of Expr.Softplus, y = ln(1 + eˣ).
func Softplus(x graph.Expr) (y graph.Expr, ok bool) { return activation(x, ops.Softplus()) }

// gated returns the kernel of y = f(gate)∘up, all of shape (n, f). Its backward pass needs only the operands.
func gated(gate, up graph.Expr, f ops.Gate) (y graph.Expr, ok bool) {
	return gate.Kernel(f.Name, func(g *ops.Builder) (*ops.Node, error) {
		if got, want := up.Operand().Shape(), gate.Operand().Shape(); !got.Eq(want) {
			return nil, errors.Errorf("up: got shape %v, want the gate's, %v", got, want)
		}
		return g.Gate(gate.Operand(), up.Operand(), f)
	}, up)
}

// SwiGLU returns the kernel of y = gate∘σ(gate)∘up, all of shape (n, f). Large gates are as in SiLU.
func SwiGLU(gate, up graph.Expr) (y graph.Expr, ok bool) { return gated(gate, up, ops.SwiGLU()) }

// GLU is like SwiGLU with Sigmoid: y = σ(gate)∘up.
func GLU(gate, up graph.Expr) (y graph.Expr, ok bool) {
	return gated(gate, up, ops.Gated("glu", ops.Sigmoid()))
}

// GEGLU is like SwiGLU with GELU: y = gate∘Φ(gate)∘up.
func GEGLU(gate, up graph.Expr) (y graph.Expr, ok bool) {
	return gated(gate, up, ops.Gated("geglu", ops.GELU()))
}

// GEGLUTanh is like SwiGLU with GELUTanh.
func GEGLUTanh(gate, up graph.Expr) (y graph.Expr, ok bool) {
	return gated(gate, up, ops.Gated("geglu_tanh", ops.GELUTanh()))
}

// ReGLU is like SwiGLU with ReLU: y = max(gate, 0)∘up.
func ReGLU(gate, up graph.Expr) (y graph.Expr, ok bool) {
	return gated(gate, up, ops.Gated("reglu", ops.ReLU()))
}
