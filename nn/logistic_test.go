package nn

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

var pooledLayerCases = []layerCase{
	{"sigmoid", "Sigmoid", func(_ Site, x graph.Expr) graph.Expr { return Sigmoid{}.Forward(x) }},
	{"silu", "SiLU", func(_ Site, x graph.Expr) graph.Expr { return SiLU{}.Forward(x) }},
	{"softplus", "Softplus", func(_ Site, x graph.Expr) graph.Expr { return Softplus{}.Forward(x) }},
	{"mean of tokens", "MeanTokens", func(at Site, x graph.Expr) graph.Expr { return NewMeanTokens(at).Forward(x) }},
	{"one token of each", "GatherTokens", func(at Site, x graph.Expr) graph.Expr { return NewGatherTokens(at, places(at)).Forward(x) }},
	{"squared error", "SquaredError", func(at Site, x graph.Expr) graph.Expr {
		return NewSquaredError(at.Scope).Forward(x, at.Param("y", graph.Normal(1), at.Batch*at.Context, at.Embd))
	}},
	{"binary cross entropy", "BinaryCrossEntropy", func(at Site, x graph.Expr) graph.Expr {
		return NewBinaryCrossEntropy(at.Scope).Forward(x, at.Param("y", graph.Normal(1), at.Batch*at.Context, at.Embd))
	}},
}

// entrywise returns the results of a layer for some numbers, and its derivative, in one form.
func entrywise(t *testing.T, l Layer, kernels bool, numbers ...float64) (y, slope []float64) {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	g.Kernels = kernels
	x := g.Root().Value("x", graph.Const(0), 1, len(numbers))
	copy(x.Tensor().F64, numbers)
	out := l.Forward(x)
	return run(t, out).Value().Floats(), run(t, out.SumAll(), x).Grad(x).Floats()
}

// σ(x) + σ(−x) = 1, x·σ(x) − (−x)·σ(−x) = x, softplus(x) − softplus(−x) = x, and softplus' = σ, for x of every size.
func TestI60Symmetries(t *testing.T) {
	x := []float64{0, 0.3, 1.7, 14, 36, 200, 1000}
	minus := make([]float64, len(x))
	for i, v := range x {
		minus[i] = -v
	}
	for _, kernels := range []bool{false, true} {
		at := func(l Layer) (right, left, slope []float64) {
			right, slope = entrywise(t, l, kernels, x...)
			left, _ = entrywise(t, l, kernels, minus...)
			return right, left, slope
		}
		s, t0, _ := at(Sigmoid{})
		u, u0, _ := at(SiLU{})
		p, p0, dp := at(Softplus{})
		for i, v := range x {
			for what, pair := range map[string][2]float64{
				"σ(x) + σ(−x)": {s[i] + t0[i], 1}, "silu(x) − silu(−x)": {u[i] - u0[i], v},
				"softplus(x) − softplus(−x)": {p[i] - p0[i], v}, "softplus'": {dp[i], s[i]}, "silu(x)/x": {u[i], v * s[i]},
			} {
				if got, want := pair[0], pair[1]; !(math.Abs(got-want) <= 1e-15*max(1, v)) {
					t.Errorf("kernels %t, %s at %v: got %v, want %v", kernels, what, v, got, want)
				}
			}
		}
	}
}

// The least value of x·σ(x) is −0.2785 at −1.2785, where the derivative changes its sign: 1 + x = e^(−x)·(−1) there.
func TestI60LeastSiLU(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		y, slope := entrywise(t, SiLU{}, kernels, -1.2784645427610738)
		if !(math.Abs(y[0]+0.2784645427610738) <= 1e-15) || !(math.Abs(slope[0]) <= 1e-15) {
			t.Errorf("kernels %t: got %v with slope %v", kernels, y, slope)
		}
	}
}
