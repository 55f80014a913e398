package graph_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
)

// Sigmoid, SiLU and softplus, value and derivative, are right where e^x overflows and where it is less than the last
// place of 1: in both types, as equations and as kernels.
func TestLogisticFarFromZero(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	numbers := []float64{-1000, -100, -20, -1, 0, 1, 20, 100, 1000}
	for name, c := range map[string]struct {
		kernel       func(x graph.Expr) (graph.Expr, bool)
		plain        func(x graph.Expr) graph.Expr
		value, slope func(x float64) float64
	}{
		"sigmoid": {fused.Sigmoid, graph.Expr.Sigmoid, sigmoid,
			func(x float64) float64 { return sigmoid(x) * sigmoid(-x) }},
		"silu": {fused.SiLU, func(x graph.Expr) graph.Expr { return x.Mul(x.Sigmoid()) },
			func(x float64) float64 { return x * sigmoid(x) },
			func(x float64) float64 { return sigmoid(x) * (1 + x*sigmoid(-x)) }},
		"softplus": {fused.Softplus, graph.Expr.Softplus, func(x float64) float64 {
			return max(x, 0) +
				math.Log1p(math.Exp(-math.Abs(x)))
		}, sigmoid},
	} {
		for dtype, tolerance := range map[graph.Dtype]float64{graph.Float64: 1e-14, graph.Float32: 2e-7} {
			for _, kernels := range []bool{false, true} {
				g := graph.New(dtype, 1)
				g.Kernels = kernels
				x := g.Root().Param("x", graph.Const(0), 1, len(numbers))
				var want, slopes []float64
				for i, v := range numbers {
					x.Tensor().Set(i, v)
					want, slopes = append(want, c.value(v)), append(slopes, c.slope(v))
				}
				y, ok := c.kernel(x)
				if ok != kernels {
					t.Fatal(g.Err())
				}
				if !ok {
					y = c.plain(x)
				}
				what := fmt.Sprintf("%s, %v, kernels %t", name, dtype, kernels)
				graphtest.Close(t, what, graphtest.Values(t, y), want, tolerance)
				p := graphtest.Run(t, graphtest.Compile(t, y.SumAll(), x))
				graphtest.Close(t, what+", derivative", p.Grad(x).Floats(), slopes, tolerance)
			}
		}
	}
}
