package graph_test

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

func mustCompile(t *testing.T, out graph.Expr, wrt ...graph.Expr) *graph.Program {
	t.Helper()
	p, err := graph.Compile(out, wrt...)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return p
}

func mustRun(t *testing.T, p *graph.Program) *graph.Program {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p
}

// values runs a forward program and returns its output.
func values(t *testing.T, out graph.Expr) []float64 {
	t.Helper()
	return mustRun(t, mustCompile(t, out)).Value().Floats()
}

func checkClose(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d entries, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tolerance*max(1, math.Abs(w))) {
			t.Errorf("%s[%d]: got %v, want %v", what, i, got[i], w)
		}
	}
}
