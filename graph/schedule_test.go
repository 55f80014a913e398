package graph

import (
	"strings"
	"testing"
)

// TestRecomputeNeedsKernels: it cannot be had where one operation is Gorgonia's, and the error says which. Programs without
// gradients have nothing to compute again.
func TestRecomputeNeedsKernels(t *testing.T) {
	g := New(Float64, 1)
	s := g.Root().Sub("h.0")
	y, _ := Linear(g.Root().Value("x", Normal(1), 3, 4), s.Param("w", Normal(1), 4, 4), Expr{})
	loss, _ := SquaredError(y.In(s).Tanh().Cols(0, 1), g.Root().Value("y", Const(0), 3, 1), g.Root().Value("weights", Const(1), 3, 1))
	g.Recompute("h.0")
	if _, err := Compile(loss); err != nil {
		t.Errorf("without gradients: %v", err)
	}
	_, err := Compile(loss, g.Params()...)
	if want := "recompute: every operation has to be a kernel, but h.0: tanh is Gorgonia's"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
}
