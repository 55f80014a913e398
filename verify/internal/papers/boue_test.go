package papers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"strings"
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
func TestBoueIsComplete(t *testing.T) { complete(t, "Boue", 55) }

// complete fails unless each of the n equations of a paper has a test whose comment says what it states.
func complete(t *testing.T, paper string, n int) {
	t.Helper()
	files, err := filepath.Glob(strings.ToLower(paper) + "_*_test.go")
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
	for i := 1; i <= n; i++ {
		if name := fmt.Sprintf("Test%sEq%02d", paper, i); !found[name] {
			t.Errorf("no %s that says in a comment what equation (%d) states", name, i)
		}
	}
}

// frobenius returns ‖x‖, or NaN if x carries an error.
func frobenius(x matrix) float64 {
	if x.Err != nil {
		return math.NaN()
	}
	return math.Sqrt(x.Square().SumTokens().Sum().Data[0])
}

// The size of a matrix with an error is NaN, so that no test takes it for zero.
func TestFrobeniusOfAFailure(t *testing.T) {
	if got := frobenius(ones(2, 3).MatMul(ones(2, 3))); !math.IsNaN(got) {
		t.Errorf("got %v, want NaN", got)
	}
}

func dot(x, y matrix) float64 { return x.Mul(y).SumTokens().Sum().Data[0] }

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
		"wq": fixture.Random("wq", 8, 3), "bq": fixture.Random("bq", 1, 3), "wk": fixture.Random("wk", 8, 3),
		"bk": fixture.Random("bk", 1, 3),
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
	a.dcausal = a.drho.Sub(a.drho.Mul(a.rho).Sum()).Mul(a.rho)
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
	return complexStep(
		t, func(z complexParameters) complexMatrix { return forward(z["x"]) }, parameters{"x": x}, a.delta,
	)["x"]
}

// literal returns the head with the mask multiplied as (13) and (18) print it.
func (a attention) literal(z complexParameters) complexMatrix {
	q := linearForward(z["x"], z["wq"], z["bq"])
	k := linearForward(z["x"], z["wk"], z["bk"])
	v := linearForward(z["x"], z["wv"], z["bv"])
	return q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(3)).Mul(hand.Lift[complex128](a.binary)).Softmax().MatMul(v)
}

func lift(x matrix) complexMatrix { return hand.Lift[complex128](x) }

// table returns the paper's model: one block, one sequence, the sum of the losses.
func table() fixture.Fixture {
	f := fixture.Generic(fixture.WithSum)
	f.Layers, f.Batch = 1, 1
	f.Tokens, f.Targets = f.Tokens[:f.Context], f.Targets[:f.Context]
	for name := range f.Parameters {
		if len(name) > 4 && name[:4] == "h.1." {
			delete(f.Parameters, name)
		}
	}
	return f
}

// Tables 2 and 3, written out line by line with the symbols of the paper, without model.go: every a, every Δ and every
// gradient of the model is the one printed. (The Δ formulas are for one block and one sequence, erratum B13;
// TestGPTEveryEntry has more of both.)
func TestBoueTables(t *testing.T) {
	f := table()
	p := f.Parameters
	w := func(name string) matrix { return p[name+".weight"] }
	b := func(name string) matrix { return p[name+".bias"] }
	const n, d, H, dh = fixture.Tokens, fixture.Features, fixture.Heads, fixture.Values
	J := ones(n, 1) // broadcasts a bias
	bar := func(a matrix) (abar, sigma matrix) {
		mu := a.Sum().Scale(1. / d)
		sigma = a.Sub(mu).Square().Sum().Scale(1. / d).Shift(f.Eps).Sqrt()
		return a.Sub(mu).Div(sigma), sigma
	}

	// Table 2, downwards
	a1 := oneHotRows(f.Tokens, fixture.Vocabulary).MatMul(w("wte")).Add(
		oneHotRows(natural(n), fixture.Positions).MatMul(w("wpe")),
	)
	a1bar, sigma1 := bar(a1)
	a2 := a1bar.MatMul(lifted(w("h.0.ln_1"))).Add(J.MatMul(b("h.0.ln_1")))
	heads := headsOf(w("h.0.attn.c_attn"), b("h.0.attn.c_attn"), H, fixture.QK, dh)
	var rho, q, k, v, out []matrix
	for h, s := range heads {
		q = append(q, a2.MatMul(s.Wq).Add(J.MatMul(s.Bq)))
		k = append(k, a2.MatMul(s.Wk).Add(J.MatMul(s.Bk)))
		v = append(v, a2.MatMul(s.Wv).Add(J.MatMul(s.Bv)))
		scaled := q[h].MatMul(k[h].Transpose()).Scale(1 / math.Sqrt(fixture.QK))
		visible := hand.CausalMask(n).Exp().Mul(scaled.Exp()) // ρ without a softmax function or a mask of −∞
		rho = append(rho, visible.Div(visible.Sum()))
		out = append(out, rho[h].MatMul(v[h]))
	}
	a3 := hand.Join(out...)
	a4 := a3.MatMul(w("h.0.attn.c_proj")).Add(J.MatMul(b("h.0.attn.c_proj")))
	a5 := a1.Add(a4)
	a5bar, sigma5 := bar(a5)
	a6 := a5bar.MatMul(lifted(w("h.0.ln_2"))).Add(J.MatMul(b("h.0.ln_2")))
	a7 := a6.MatMul(w("h.0.mlp.c_fc")).Add(J.MatMul(b("h.0.mlp.c_fc")))
	cdf := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	a8 := each(a7, func(x float64) float64 { return x * cdf(x) })
	a9 := a8.MatMul(w("h.0.mlp.c_proj")).Add(J.MatMul(b("h.0.mlp.c_proj")))
	a10 := a5.Add(a9)
	a10bar, sigma10 := bar(a10)
	a11 := a10bar.MatMul(lifted(w("ln_f"))).Add(J.MatMul(b("ln_f")))
	a12 := a11.MatMul(w("lm_head")).Add(J.MatMul(b("lm_head")))
	pred := a12.Exp().Div(a12.Exp().Sum())
	gt := oneHotRows(f.Targets, fixture.Vocabulary)

	// Table 2, upwards
	norm := func(w, delta, abar, sigma matrix) matrix { // (40)
		wd := lifted(w).MatMul(delta.Transpose())
		at := abar.Transpose()
		return wd.Scale(d).Sub(wd.SumTokens()).Sub(at.Mul(at.Mul(wd).SumTokens())).Transpose().Div(sigma.Scale(d))
	}
	d12 := pred.Sub(gt)
	d11 := d12.MatMul(w("lm_head").Transpose())
	d10 := norm(w("ln_f"), d11, a10bar, sigma10)
	d8 := d10.MatMul(w("h.0.mlp.c_proj").Transpose())
	d7 := d8.Mul(each(a7, func(x float64) float64 { return cdf(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi) }))
	d6 := d7.MatMul(w("h.0.mlp.c_fc").Transpose())
	d5 := d10.Add(norm(w("h.0.ln_2"), d6, a5bar, sigma5))
	d3 := d5.MatMul(w("h.0.attn.c_proj").Transpose())
	var raw, own []matrix
	d2 := hand.Zeros[float64](n, d)
	for h, s := range heads {
		own = append(own, d3.Columns(h*dh, (h+1)*dh))
		dv := own[h].MatMul(v[h].Transpose())
		raw = append(raw, dv.Sub(dv.Mul(rho[h]).MatMul(ones(n, n))).Mul(rho[h]).Scale(1/math.Sqrt(fixture.QK)))
		d2 = d2.Add(rho[h].Transpose().MatMul(own[h]).MatMul(s.Wv.Transpose()))
		d2 = d2.Add(raw[h].MatMul(k[h]).MatMul(s.Wq.Transpose()))
		d2 = d2.Add(raw[h].Transpose().MatMul(q[h]).MatMul(s.Wk.Transpose()))
	}
	d1 := d5.Add(norm(w("h.0.ln_1"), d2, a1bar, sigma1))

	// Table 3, upwards
	want := parameters{
		"lm_head.bias":           d12.SumTokens(),
		"lm_head.weight":         a11.Transpose().MatMul(d12),
		"ln_f.bias":              d11.SumTokens(),
		"ln_f.weight":            diagonal(a10bar.Transpose().MatMul(d11)),
		"h.0.mlp.c_proj.bias":    d10.SumTokens(),
		"h.0.mlp.c_proj.weight":  a8.Transpose().MatMul(d10),
		"h.0.mlp.c_fc.bias":      d7.SumTokens(),
		"h.0.mlp.c_fc.weight":    a6.Transpose().MatMul(d7),
		"h.0.ln_2.bias":          d6.SumTokens(),
		"h.0.ln_2.weight":        diagonal(a5bar.Transpose().MatMul(d6)),
		"h.0.attn.c_proj.bias":   d5.SumTokens(),
		"h.0.attn.c_proj.weight": a3.Transpose().MatMul(d5),
		"h.0.ln_1.bias":          d2.SumTokens(),
		"h.0.ln_1.weight":        diagonal(a1bar.Transpose().MatMul(d2)),
		"wpe.weight":             oneHotRows(natural(n), fixture.Positions).Transpose().MatMul(d1),
		"wte.weight":             oneHotRows(f.Tokens, fixture.Vocabulary).Transpose().MatMul(d1),
	}
	weights, biases := make([]matrix, 3*H), make([]matrix, 3*H)
	for h := range heads {
		weights[h], biases[h] = a2.Transpose().MatMul(raw[h]).MatMul(k[h]), raw[h].MatMul(k[h]).SumTokens()
		weights[H+h], biases[H+h] = raw[h].MatMul(a2).Transpose().MatMul(q[h]), hand.Zeros[float64](1, fixture.QK)
		weights[2*H+h], biases[2*H+h] = rho[h].MatMul(a2).Transpose().MatMul(own[h]), own[h].SumTokens()
	}
	want["h.0.attn.c_attn.weight"] = hand.Join(weights...)
	want["h.0.attn.c_attn.bias"] = hand.Join(biases...)

	a, err := gptForward(f.Plan, p, f.Tokens, f.Targets)
	if err != nil {
		t.Fatal(err)
	}
	block := a.Blocks[0]
	for name, pair := range map[string][2]matrix{
		"a₁": {a.A1, a1}, "a₂": {block.A2, a2}, "a₃": {block.A3, a3}, "a₄": {block.A4, a4}, "a₅": {block.A5, a5},
		"a₆": {block.A6, a6},
		"a₇": {block.A7, a7}, "a₈": {block.A8, a8}, "a₉": {block.A9, a9}, "a₁₀": {block.A10, a10}, "a₁₁": {a.A11, a11},
		"a₁₂":  {a.Logits, a12},
		"loss": {a.Loss, gt.Mul(pred.Log()).SumTokens().Sum().Scale(-1)},
	} {
		near(t, name, pair[0], pair[1])
	}
	_, g := byHand(t, f)
	deltas := map[string]matrix{
		"lm_head": d12, "ln_f": d11, "h.0": d10, "h.0.mlp.act": d8, "h.0.mlp.c_fc": d7, "h.0.ln_2": d6,
		"h.0.attn": d5, "h.0.attn.heads": d3, "h.0.ln_1": d2, "drop": d1,
	}
	for _, delta := range g.Deltas {
		if printed, ok := deltas[delta.Name]; ok {
			near(t, "Δ "+delta.Name, delta.Value, printed)
			delete(deltas, delta.Name)
		}
	}
	if len(deltas) != 0 {
		t.Errorf("no Δ for %d places", len(deltas))
	}
	if e := worst(t, g.Parameters, want); !(e.Distance <= verify.Suspicion) {
		t.Errorf("%s (%d, %d): got %v, want %v as in Table 3", e.Name, e.Row, e.Col, e.Got, e.Want)
	}
}
