package papers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// TestBoueEqNN tests equation (NN) of L. Boué, "Deep learning for pedestrians: backpropagation in Transformers". Where
// the printed form is wrong or can be misread, the test shows by how much, ‖printed − right‖/‖right‖ for its data, and
// names the erratum.

// near requires two matrices to agree to rounding.
func near(t *testing.T, what string, got, want matrix) {
	t.Helper()
	if got.Err != nil || want.Err != nil || len(got.Data) == 0 || len(want.Data) == 0 {
		t.Errorf("%s: got %v (%v), want %v (%v): nothing to compare", what, got.Data, got.Err, want.Data, want.Err)
		return
	}
	ds, err := verify.Compare(parameters{what: got}, parameters{what: want})
	if err != nil {
		t.Fatal(err)
	}
	d := ds[0]
	record(t, d.Distance)
	if !(d.Distance <= verify.Suspicion) {
		t.Errorf("%s (%d, %d): got %v, want %v; distance %.1e", what, d.Row, d.Col, d.Got, d.Want, d.Distance)
	}
	t.Logf("%s: %.1e", what, d.Distance)
}

// vanishes requires a matrix to be zero compared with numbers of size one.
func vanishes(t *testing.T, what string, got matrix) {
	t.Helper()
	record(t, verify.Largest(parameters{what: got}))
	if got.Err != nil || len(got.Data) == 0 || !verify.StructuralZero(got, 1) {
		t.Errorf("%s: got %v (%v), want zeros", what, got.Data, got.Err)
	}
}

// wrongBy requires a printed form to differ from the right one by the stated amount.
func wrongBy(t *testing.T, what string, printed, right matrix, amount float64) {
	t.Helper()
	got := frobenius(printed.Sub(right)) / frobenius(right)
	if !(math.Abs(got-amount) <= 0.02*amount) {
		t.Errorf("%s: got %.3g wrong, want %.3g", what, got, amount)
	}
}

// Every numbered equation of the paper has its test.
func TestBoueIsComplete(t *testing.T) {
	files, err := filepath.Glob("boue_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Doc.Text() != "" {
				found[f.Name.Name] = true
			}
		}
	}
	for i := 1; i <= 55; i++ {
		if name := fmt.Sprintf("TestBoueEq%02d", i); !found[name] {
			t.Errorf("no %s that says in a comment what equation (%d) states", name, i)
		}
	}
}

// frobenius returns ‖x‖, or NaN if x carries an error.
func frobenius(x matrix) float64 {
	if x.Err != nil {
		return math.NaN()
	}
	return math.Sqrt(x.Square().SumTokens().SumFeatures().Data[0])
}

// The size of a matrix with an error is NaN, so that no test takes it for zero.
func TestFrobeniusOfAFailure(t *testing.T) {
	if got := frobenius(ones(2, 3).MatMul(ones(2, 3))); !math.IsNaN(got) {
		t.Errorf("got %v, want NaN", got)
	}
}

func dot(x, y matrix) float64 { return x.Mul(y).SumTokens().SumFeatures().Data[0] }

func ones(rows, cols int) matrix { return hand.Zeros[float64](rows, cols).Shift(1) }

// oneHotRows returns the paper's ohe: a row for each token with a 1 at its index.
func oneHotRows(indices []int, size int) matrix {
	return oneHot(indices, size)
}

// permutation returns the matrix Pπ that takes row order[i] to row i.
func permutation(order ...int) matrix { return oneHotRows(order, len(order)) }

// lifted returns diag of a row, (1, d) → (d, d); diagonal is its inverse.
func lifted(row matrix) matrix {
	return permutation(natural(row.Cols)...).Mul(row)
}

func diagonal(square matrix) matrix {
	return square.Mul(permutation(natural(square.Cols)...)).SumTokens()
}

func natural(n int) []int { return hand.Positions(1, n) }

// attention is the running example of the paper's section 3: one causal head with n = 6, d = 8, dρ = 3, dh = 5 and
// everything on the way to its output.
type attention struct {
	x, delta                 matrix
	p                        headParameters[float64]
	q, k, v                  matrix
	raw, scaled, causal, rho matrix
	mask                     matrix // additive
	binary                   matrix // the paper's m of 1 and 0
	draw, dcausal, drho      matrix
}

func newAttention() attention {
	var a attention
	a.x, a.delta = fixture.Random("x", 6, 8).Scale(4), fixture.Random("delta", 6, 5)
	a.p = headOf(parameters{
		"wq": fixture.Random("wq", 8, 3), "bq": fixture.Random("bq", 1, 3), "wk": fixture.Random("wk", 8, 3), "bk": fixture.Random("bk", 1, 3),
		"wv": fixture.Random("wv", 8, 5), "bv": fixture.Random("bv", 1, 5),
	})
	a.q = linearForward(a.x, a.p.Wq, a.p.Bq)
	a.k = linearForward(a.x, a.p.Wk, a.p.Bk)
	a.v = linearForward(a.x, a.p.Wv, a.p.Bv)
	a.mask = hand.CausalMask(6)
	a.binary = a.mask.Exp()
	a.raw = a.q.MatMul(a.k.Transpose())
	a.scaled = a.raw.Scale(1 / math.Sqrt(3))
	a.causal = a.scaled.Add(a.mask)
	a.rho = a.causal.Softmax()
	a.drho = a.delta.MatMul(a.v.Transpose())
	a.dcausal = a.drho.Sub(a.drho.Mul(a.rho).SumFeatures()).Mul(a.rho)
	a.draw = a.dcausal.Scale(1 / math.Sqrt(3))
	return a
}

// parameters of the head by name, and its input.
func (a attention) parameters() parameters {
	return parameters{"x": a.x, "wq": a.p.Wq, "bq": a.p.Bq, "wk": a.p.Wk, "bk": a.p.Bk, "wv": a.p.Wv, "bv": a.p.Bv}
}

// truth returns the complex step of the head by its input and its parameters.
func (a attention) truth(t *testing.T) parameters {
	t.Helper()
	return complexStep(t, func(z complexParameters) complexMatrix {
		return headForward(z["x"], headOf(z), a.mask, matrix{})
	}, a.parameters(), a.delta)
}

// by differentiates Σ y∘Δ for a y computed from one matrix.
func (a attention) by(t *testing.T, x matrix, forward func(complexMatrix) complexMatrix) matrix {
	t.Helper()
	return complexStep(t, func(z complexParameters) complexMatrix { return forward(z["x"]) }, parameters{"x": x}, a.delta)["x"]
}

// literal returns the head with the mask multiplied as (13) and (18) print it.
func (a attention) literal(z complexParameters) complexMatrix {
	q := linearForward(z["x"], z["wq"], z["bq"])
	k := linearForward(z["x"], z["wk"], z["bk"])
	v := linearForward(z["x"], z["wv"], z["bv"])
	return q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(3)).Mul(hand.Lift[complex128](a.binary)).Softmax().MatMul(v)
}

func lift(x matrix) complexMatrix { return hand.Lift[complex128](x) }
