package fused

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// norm returns the operation on the rows of x (n, d) with optional gains w (1, d) and shifts b (1, d).
func norm(f ops.Norm, x, w, b graph.Expr, eps float64) (y graph.Expr, ok bool) {
	params := present(w, b)
	return x.Kernel(f.Name, func(g *ops.Builder) (*ops.Node, error) {
		if b.Graph() != nil && w.Graph() == nil {
			return nil, errors.New("shifts without gains")
		}
		if !(eps >= 0 && eps <= math.MaxFloat64) {
			return nil, errors.Errorf("eps: got %v, want at least 0", eps)
		}
		d := x.Operand().Shape()[1]
		for i, e := range params {
			if got := e.Operand().Shape().TotalSize(); got != d {
				return nil, errors.Errorf("%d %s for %d features", got, []string{"gains", "shifts"}[i], d)
			}
		}
		return g.Normalize(f, x.Operand(), operands(params...), eps)
	}, params...)
}

// LayerNorm returns the kernel of y = (x − μ)/√(σ² + eps)∘w + b over the rows of x (n, d), with optional w (1, d) and b
// (1, d). It is an error if b is given without w. The squares of a row may overflow in the kernel and not in the
// equation, or the other way round: then results that are not finite differ.
func LayerNorm(x, w, b graph.Expr, eps float64) (y graph.Expr, ok bool) {
	return norm(ops.LayerNorm(), x, w, b, eps)
}

// LayerNormSigma returns the kernel of y = (x − μ)/(σ + eps)∘w + b, with eps outside the root instead of inside.
// Otherwise it is like LayerNorm. The gradient of a row with σ = 0 is not finite.
func LayerNormSigma(x, w, b graph.Expr, eps float64) (y graph.Expr, ok bool) {
	return norm(ops.LayerNormSigma(), x, w, b, eps)
}

// RMSNorm returns the kernel of y = x/√(mean(x²) + eps)∘w over the rows of x (n, d), with optional w (1, d). Squares
// overflow as in LayerNorm.
func RMSNorm(x, w graph.Expr, eps float64) (y graph.Expr, ok bool) {
	return norm(ops.RMSNorm(), x, w, graph.Expr{}, eps)
}

// QKNorm returns the kernel of a norm of groups of columns of x (n, w), each group of a row separately, as RMSNorm with
// its gains: first the given number of groups of len(wq) columns, then groups of len(wk). It leaves the other columns
// unchanged.
func QKNorm(x, wq, wk graph.Expr, queries, keys int, eps float64) (y graph.Expr, ok bool) {
	return x.Kernel("qknorm", func(g *ops.Builder) (*ops.Node, error) {
		if !(eps >= 0 && eps <= math.MaxFloat64) {
			return nil, errors.Errorf("eps: got %v, want at least 0", eps)
		}
		shape, q, k := x.Operand().Shape(), wq.Operand().Shape().TotalSize(), wk.Operand().Shape().TotalSize()
		if len(shape) != 2 || queries < 1 || keys < 1 || queries > shape[1]/q || keys > (shape[1]-queries*q)/k {
			return nil, errors.Errorf("%v does not begin with %d groups of %d columns and %d of %d",
				shape, queries, q, keys, k)
		}
		return g.QKNorm(x.Operand(), wq.Operand(), wk.Operand(), [2]int{queries, keys}, eps)
	}, wq, wk)
}
