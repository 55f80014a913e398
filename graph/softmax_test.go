package graph

import (
	"math"
	"testing"
)

// A softmax and its logarithm subtract the largest score of the row, wherever it is, because e^1000 overflows.
func TestSoftmaxShifts(t *testing.T) {
	for _, dtype := range []Dtype{Float32, Float64} {
		g := New(dtype, 1)
		x := g.Root().Value("x", Const(0), 3, 3)
		if err := x.Tensor().Fill(1000, 999, -1000, -1000, -1000, -1001, 0, 5e4, 5e4); err != nil {
			t.Fatal(err)
		}
		e := math.Exp(-1)
		near(t, "softmax", mustRun(t, mustCompile(t, x.Softmax())).Value().Floats(),
			[]float64{1 / (1 + e), e / (1 + e), 0, 1 / (2 + e), 1 / (2 + e), e / (2 + e), 0, 0.5, 0.5}, 1e-6)
		near(t, "log sum exp", mustRun(t, mustCompile(t, x.LogSumExp())).Value().Floats(),
			[]float64{1000 + math.Log(1+e), -1000 + math.Log(2+e), 5e4 + math.Ln2}, 1e-2)
	}
}
