package graph

import (
	"fmt"
	"math"
	"testing"

	G "gorgonia.org/gorgonia"
)

// Sigmoid, SiLU and softplus, value and derivative, are right where e^x overflows and where it is less than the last
// place of 1: in both types, as equations and as kernels.
func TestLogisticFarFromZero(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	numbers := []float64{-1000, -100, -20, -1, 0, 1, 20, 100, 1000}
	for name, c := range map[string]struct {
		kernel       func(x Expr) (Expr, bool)
		plain        func(x Expr) Expr
		value, slope func(x float64) float64
	}{
		"sigmoid": {Sigmoid, Expr.Sigmoid, sigmoid, func(x float64) float64 { return sigmoid(x) * sigmoid(-x) }},
		"silu": {SiLU, func(x Expr) Expr { return x.Mul(x.Sigmoid()) }, func(x float64) float64 { return x * sigmoid(x) },
			func(x float64) float64 { return sigmoid(x) * (1 + x*sigmoid(-x)) }},
		"softplus": {Softplus, Expr.Softplus, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }, sigmoid},
	} {
		for dtype, tolerance := range map[Dtype]float64{Float64: 1e-14, Float32: 2e-7} {
			for _, kernels := range []bool{false, true} {
				g := New(dtype, 1)
				g.Kernels = kernels
				x := g.Root().Param("x", Const(0), 1, len(numbers))
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
				near(t, what, values(t, y), want, tolerance)
				near(t, what+", derivative", mustRun(t, mustCompile(t, y.SumAll(), x)).Grad(x).Floats(), slopes, tolerance)
			}
		}
	}
}

// TestTrapSigmoidEndsEarly: the stock sigmoid is 1 from 19 on in float64, and its derivative 0 there, and the stock
// softplus x from 16 on. The sigmoid of −20 has its digits here.
func TestTrapSigmoidEndsEarly(t *testing.T) {
	g := New(Float64, 1)
	g.Kernels = false
	x := g.Root().Param("x", Const(20), 1, 2)
	x.Tensor().Set(1, -20)
	const small = 2.0611536181902037e-9
	near(t, "sigmoid", values(t, x.Sigmoid().Scale(1e9)), []float64{1e9 * (1 - small), 1e9 * small}, 1e-14)
	near(t, "softplus", values(t, x.Softplus()), []float64{20 + small, small}, 1e-15)
	s, p := values(t, x.Wrap(G.Sigmoid(x.Node()))), values(t, x.Wrap(G.Softplus(x.Node())))
	stock(t, s[0] < 1 && p[0] > 20, "the sigmoid or softplus")
}

// TestTrapRectifyAtZero: the stock operation has derivative 1 at 0. Here it is 0 in both forms.
func TestTrapRectifyAtZero(t *testing.T) {
	at := func(relu func(x Expr) Expr) []float64 {
		g := New(Float64, 1)
		x := g.Root().Param("x", Const(0), 1, 3)
		x.Tensor().Set(1, -1)
		x.Tensor().Set(2, 1)
		p, err := Compile(relu(x).SumAll(), x)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		return p.Grad(x).F64
	}
	near(t, "spelled", at(Expr.ReLU), []float64{0, 0, 1}, 0)
	near(t, "kernel", at(func(x Expr) Expr { y, _ := ReLU(x); return y }), []float64{0, 0, 1}, 0)
	stock(t, at(func(x Expr) Expr { return x.Wrap(G.Rectify(x.Node())) })[0] == 0, "the rectifier")
}
