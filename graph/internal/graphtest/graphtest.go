// Package graphtest compiles and runs expressions in tests, which fail where the expressions do. The tests inside
// package graph cannot import it and have functions of the same kind.
package graphtest

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Compile returns the program that computes out and its gradients.
func Compile(t *testing.T, out graph.Expr, wrt ...graph.Expr) *graph.Program {
	t.Helper()
	p, err := graph.Compile(out, wrt...)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return p
}

// Run runs a program once and returns it.
func Run(t *testing.T, p *graph.Program) *graph.Program {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Values returns the numbers of an expression.
func Values(t *testing.T, out graph.Expr) []float64 {
	t.Helper()
	return Run(t, Compile(t, out)).Value().Floats()
}

// Close fails the test unless each number is as near to the wanted one as tolerance·max(1, |wanted|).
func Close(t *testing.T, name string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d entries, want %d", name, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tolerance*max(1, math.Abs(w))) {
			t.Errorf("%s[%d]: got %v, want %v", name, i, got[i], w)
		}
	}
}
