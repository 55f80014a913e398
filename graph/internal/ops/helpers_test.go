package ops_test

import (
	"math"
	"testing"

	. "github.com/pedestrian-ml/pedestrian/graph"
	G "gorgonia.org/gorgonia"
)

// mustCompile compiles or fails the test.
func mustCompile(t *testing.T, out Expr, wrt ...Expr) *Program {
	t.Helper()
	p, err := Compile(out, wrt...)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return p
}

func mustRun(t *testing.T, p *Program) *Program {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
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

// values runs a forward program and returns its output.
func values(t *testing.T, out Expr) []float64 {
	t.Helper()
	return mustRun(t, mustCompile(t, out)).Value().Floats()
}

// operandsOf returns the operands of n.
func operandsOf(n *G.Node) (list G.Nodes) {
	g := n.Graph()
	for it := g.From(n.ID()); it.Next(); {
		list = append(list, it.Node().(*G.Node))
	}
	return list
}

// checkGradients compares every gradient of Σ y∘Δ with central differences, twice, so that a second run finds the
// buffers as the first left them.
func checkGradients(t *testing.T, y Expr, wrt ...Expr) {
	t.Helper()
	if err := y.Graph().Err(); err != nil {
		t.Fatal(err)
	}
	loss := y
	if shape := y.Shape(); len(shape) > 0 {
		loss = y.Mul(y.Graph().Root().Value("delta", Normal(1), shape...)).SumAll()
	}
	p := mustCompile(t, loss, wrt...)
	const h = 1e-5
	for range 2 {
		for _, x := range wrt {
			numbers := x.Tensor()
			want := make([]float64, numbers.Len())
			for i := range want {
				v := numbers.At(i)
				numbers.Set(i, v+h)
				up := mustRun(t, p).Loss()
				numbers.Set(i, v-h)
				want[i] = (up - mustRun(t, p).Loss()) / (2 * h)
				numbers.Set(i, v)
			}
			near(t, "gradient of "+x.Name(), mustRun(t, p).Grad(x).Floats(), want, 2e-8)
		}
	}
}
