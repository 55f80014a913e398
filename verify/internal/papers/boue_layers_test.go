package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// normed is the running example of section 5: n = 4 tokens of d = 6 features.
type normed struct{ x, w, b, delta, norm, sigma matrix }

func newNormed(eps float64) normed {
	n := normed{
		x: fixture.Random("x", 4, 6).Scale(4).Shift(1), w: fixture.Random("w", 1, 6).Shift(1),
		b: fixture.Random("b", 1, 6), delta: fixture.Random("delta", 4, 6),
	}
	n.norm, n.sigma = normalise(n.x, eps)
	return n
}

func (n normed) truth(t *testing.T, eps float64) parameters {
	t.Helper()
	return complexStep(t, func(z complexParameters) complexMatrix {
		return layerNormForward(z["x"], z["w"], z["b"], eps)
	}, parameters{"x": n.x, "w": n.w, "b": n.b}, n.delta)
}

// (36) Each token minus its mean, divided by its standard deviation, written as a product with diag(1/σ) from the left.
// Its mean is then 0 and its mean square 1, or σ²/(σ²+ε) where ε keeps the divisor away from 0 (the paper has ε = 0).
func TestBoueEq36(t *testing.T) {
	n := newNormed(0)
	inverse := ones(1, 4).Div(n.sigma.Transpose())
	near(t, "ā", lifted(inverse).MatMul(n.x.Sub(n.x.Mean())), n.norm)
	vanishes(t, "mean of ā", n.norm.Mean())
	near(t, "mean square of ā", n.norm.Square().Mean(), ones(4, 1))

	const eps = 0.3
	withEps, sigma := normalise(n.x, eps)
	near(t, "mean square of ā with ε", withEps.Square().Mean(), sigma.Square().Shift(-eps).Div(sigma.Square()))
}

// (37) A gain and a bias per feature: the product with diag(w) from the right is the product with w along every row.
func TestBoueEq37(t *testing.T) {
	n := newNormed(0)
	near(t, "ā diag(w) + b̃", n.norm.MatMul(lifted(n.w)).Add(ones(4, 1).MatMul(n.b)), n.norm.Mul(n.w).Add(n.b))
}

// (38) The complete layer. At ε = 0 it does not depend on a shift or a scale of a token.
func TestBoueEq38(t *testing.T) {
	n := newNormed(0)
	got := layerNormForward(n.x, n.w, n.b, 0)
	near(t, "a", got, n.x.Sub(n.x.Mean()).Div(n.sigma).Mul(n.w).Add(n.b))
	near(t, "a of a shifted and scaled token", layerNormForward(n.x.Scale(7).Shift(-3), n.w, n.b, 0), got)
}

// (39) Normalising over the features is normalising over the samples of the transpose.
func TestBoueEq39(t *testing.T) {
	n := newNormed(0)
	batchNorm := func(x matrix) matrix { // no affine part
		rows := float64(x.Rows)
		centred := x.Sub(x.SumTokens().Scale(1 / rows))
		return centred.Div(centred.Square().SumTokens().Scale(1 / rows).Sqrt())
	}
	near(t, "BN(aᵗ)ᵗ", batchNorm(n.x.Transpose()).Transpose(), n.norm)
}

// (40) Δ back through the layer, as the paper lays it out: features down, d the width, sums over the rows of the
// transposed matrix, the first sum under Σ binding ā∘w̃Δ, the division per token outside the transpose (erratum B5):
// inside it σ would not have a matching shape. Other readings of the line are wrong by the amounts below.
func TestBoueEq40(t *testing.T) {
	n := newNormed(0)
	want := n.truth(t, 0)["x"]
	const d = 6
	wd := lifted(n.w).MatMul(n.delta.Transpose())          // w̃Δᵗ       (d, n)
	abar := n.norm.Transpose()                             // āᵗ        (d, n)
	sums := func(x matrix) matrix { return x.SumTokens() } // down the features
	outside := func(x matrix) matrix { return x.Transpose().Div(n.sigma).Scale(1. / d) }
	near(t, "Δ as printed", outside(wd.Scale(d).Sub(sums(wd)).Sub(abar.Mul(sums(abar.Mul(wd))))), want)
	dx, _, _ := layerNormBackward(n.x, n.w, n.delta, 0)
	near(t, "Δ of LayerNormBackward", dx, want)

	wrongAxis := wd.Scale(d).Sub(wd.Sum()).Sub(abar.Mul(abar.Mul(wd).Sum()))
	wrongBy(t, "sums over the tokens", outside(wrongAxis), want, 0.675)
	precedence := wd.Scale(d).Sub(sums(wd)).Sub(abar.Mul(sums(abar)).Mul(wd))
	wrongBy(t, "(ā ∘ Σā) ∘ w̃Δ", outside(precedence), want, 0.418)
	withoutD := wd.Sub(sums(wd)).Sub(abar.Mul(sums(abar.Mul(wd))))
	wrongBy(t, "d left out", outside(withoutD), want, 0.954)

	// Twice orthogonal at ε = 0: to a shift and to a scale of the token.
	vanishes(t, "Σ_f Δ", dx.Sum())
	vanishes(t, "Σ_f Δ∘ā", dx.Mul(n.norm).Sum())
}

// (40) with ε. The second orthogonality is then off by the share that ε takes from ā, and the formula without ε is
// wrong against a forward with it: little at unit variance, much at the size of GPT-2's embeddings (erratum B5b).
func TestBoueEq40Epsilon(t *testing.T) {
	const eps = 1e-5
	for std, amount := range map[float64]float64{1: 6.71e-6, 0.02: 0.0165} {
		n := newNormed(0)
		n.x = n.norm.Scale(std) // every token has standard deviation std
		n.norm, n.sigma = normalise(n.x, eps)
		want := n.truth(t, eps)["x"]
		dx, _, _ := layerNormBackward(n.x, n.w, n.delta, eps)
		near(t, "Δ", dx, want)
		left := n.delta.Mul(n.w).Mul(n.norm).Mean().Scale(6).Div(n.sigma).Scale(eps).Div(n.sigma.Square())
		vanishes(t, "Σ_f Δ∘ā", dx.Mul(n.norm).Sum().Sub(left))
		without, _, _ := layerNormBackward(n.x, n.w, n.delta, 0)
		wrongBy(t, "Δ without ε", without, want, amount)
	}
}

// (41) ∂w = diag(āᵗΔ): the sum over the tokens of ā∘Δ.
func TestBoueEq41(t *testing.T) {
	n := newNormed(1e-5)
	_, dw, _ := layerNormBackward(n.x, n.w, n.delta, 1e-5)
	near(t, "∂w", diagonal(n.norm.Transpose().MatMul(n.delta)), n.truth(t, 1e-5)["w"])
	near(t, "∂w of LayerNormBackward", dw, n.truth(t, 1e-5)["w"])
}

// (42) ∂b = Σ_tokens Δ.
func TestBoueEq42(t *testing.T) {
	n := newNormed(1e-5)
	_, _, db := layerNormBackward(n.x, n.w, n.delta, 1e-5)
	near(t, "∂b", n.delta.SumTokens(), n.truth(t, 1e-5)["b"])
	near(t, "∂b of LayerNormBackward", db, n.delta.SumTokens())
}

// adapted is the running example of section 6: a frozen layer (5, 7) with an adapter of rank r = 2.
type adapted struct{ x, w, d, u, delta matrix }

const loraScale = 1.5

func newAdapted() adapted {
	return adapted{
		fixture.Random("x", 4, 5), fixture.Random("w", 5, 7), fixture.Random("d", 5, 2), fixture.Random("u", 2, 7),
		fixture.Random("delta", 4, 7),
	}
}

func (a adapted) truth(t *testing.T) parameters {
	t.Helper()
	return complexStep(t, func(z complexParameters) complexMatrix {
		return z["x"].MatMul(z["w"]).Add(loraForward(z["x"], z["d"], z["u"], loraScale))
	}, parameters{"x": a.x, "w": a.w, "d": a.d, "u": a.u}, a.delta)
}

// (43) An adapter adds α a d u. That is the same as adding α d u to the weight. With the suggested α = r it counts r
// times what it does under the usual α/r (erratum B4).
func TestBoueEq43(t *testing.T) {
	a := newAdapted()
	base := a.x.MatMul(a.w)
	near(
		t, "merged", a.x.MatMul(a.w.Add(a.d.MatMul(a.u).Scale(loraScale))),
		base.Add(loraForward(a.x, a.d, a.u, loraScale)),
	)
	near(t, "u = 0", base.Add(loraForward(a.x, a.d, a.u.Scale(0), loraScale)), base)
	const r = 2
	wrongBy(t, "α = r against α/r = 1", loraForward(a.x, a.d, a.u, r), loraForward(a.x, a.d, a.u, 1), r-1)
}

// (44) Δ through the adapter is αΔ(du)ᵗ. It is a part of Δ₁₁ only: the frozen layer learns nothing but passes Δ on,
// which the paper's Δ₁₁ for LoRA omits (erratum B3). At the usual start, u = 0, the printed Δ₁₁ is zero and nothing
// upstream would learn.
func TestBoueEq44(t *testing.T) {
	a := newAdapted()
	want := a.truth(t)["x"]
	share, _, _ := loraBackward(a.x, a.d, a.u, loraScale, a.delta)
	near(t, "αΔ(du)ᵗ", share, a.delta.MatMul(a.d.MatMul(a.u).Transpose()).Scale(loraScale))
	near(t, "Δ₁₁ with the frozen path", a.delta.MatMul(a.w.Transpose()).Add(share), want)
	wrongBy(t, "Δ₁₁ as printed", share, want, 1.08)

	a.u = a.u.Scale(0)
	share, _, _ = loraBackward(a.x, a.d, a.u, loraScale, a.delta)
	if frobenius(share) != 0 || !(frobenius(a.truth(t)["x"]) > 0.1) {
		t.Errorf("u = 0: got ‖Δ₁₁‖ %v as printed, %v in truth", frobenius(share), frobenius(a.truth(t)["x"]))
	}
}

// (45) ∂d = α aᵗΔ uᵗ, which is α ∂w uᵗ: zero as long as u is zero.
func TestBoueEq45(t *testing.T) {
	a := newAdapted()
	truth := a.truth(t)
	_, dd, _ := loraBackward(a.x, a.d, a.u, loraScale, a.delta)
	near(t, "∂d", dd, truth["d"])
	near(t, "α ∂w uᵗ", truth["w"].MatMul(a.u.Transpose()).Scale(loraScale), truth["d"])
	if _, dd, _ = loraBackward(a.x, a.d, a.u.Scale(0), loraScale, a.delta); frobenius(dd) != 0 {
		t.Errorf("∂d for u = 0: got %v", dd.Data)
	}
}

// (46) ∂u = α (ad)ᵗΔ, which is α dᵗ∂w: not zero at u = 0, so that u starts to learn.
func TestBoueEq46(t *testing.T) {
	a := newAdapted()
	truth := a.truth(t)
	_, _, du := loraBackward(a.x, a.d, a.u, loraScale, a.delta)
	near(t, "∂u", du, truth["u"])
	near(t, "α dᵗ∂w", a.d.Transpose().MatMul(truth["w"]).Scale(loraScale), truth["u"])
	_, _, atStart := loraBackward(a.x, a.d, a.u.Scale(0), loraScale, a.delta)
	near(t, "∂u for u = 0", atStart, du)
}

// Section 7: the numbers of parameters that the paper counts.
func TestBoueParameterCounts(t *testing.T) {
	const d, context, vocabulary, r = 768, 1024, 50257, 16
	const block = 2*d + 4*(d*d+d) + 2*d + (d*4*d + 4*d) + (4*d*d + d)
	model := func(blocks int) int { return vocabulary*d + context*d + blocks*block + 2*d + d*vocabulary + vocabulary }
	tests := map[string][2]int{
		"a block":         {block, 7_087_872},
		"one block":       {model(1), 85_120_849},
		"twelve blocks":   {model(12), 163_087_441},
		"tied, no bias":   {model(12) - d*vocabulary - vocabulary, 124_439_808},
		"head":            {d*vocabulary + vocabulary, 38_647_633},
		"head, adapter":   {r * (d + vocabulary), 816_400},
		"adapters of all": {12*(4*r*2*d+2*r*5*d) + r*(d+vocabulary), 3_470_608},
	}
	for name, n := range tests {
		if n[0] != n[1] {
			t.Errorf("%s: got %d parameters, want %d", name, n[0], n[1])
		}
	}
	// The formula counts the fixture, with its own sizes in it.
	const fd, fv, ff, out = fixture.Features, fixture.Vocabulary, fixture.Hidden, fixture.Heads * fixture.Values
	const qkv = fixture.Heads * (2*fixture.QK + fixture.Values)
	want := fv*fd + fixture.Positions*fd + fixture.Blocks*(4*fd+fd*qkv+qkv+out*fd+fd+fd*ff+ff+ff*fd+fd) + 2*fd + fd*fv +
		fv
	got := 0
	for _, m := range fixture.Generic().Parameters {
		got += len(m.Data)
	}
	if got != want {
		t.Errorf("fixture: got %d parameters, want %d", got, want)
	}
	if share := 1 - 124_439_808./163_087_441; !(math.Abs(share-0.237) <= 0.0005) {
		t.Errorf("tying saves %.4f, want 0.237", share)
	}
}

// (47) A row of ρa is the sum of the rows of a weighted by that row of ρ.
func TestBoueEq47(t *testing.T) {
	rho, a := fixture.Random("rho", 5, 5).Softmax(), fixture.Random("a", 5, 3)
	mixed := rho.MatMul(a)
	for i := range 5 {
		sum := hand.Zeros[float64](1, 3)
		for j := range 5 {
			sum = sum.Add(a.Tokens(j, j+1).Scale(rho.At(i, j)))
		}
		near(t, "ã(t)", mixed.Tokens(i, i+1), sum)
	}
}

// (48) With weights on and below the diagonal only, (47) is the staircase of (5): the first token keeps itself, the
// second mixes two, and so on.
func TestBoueEq48(t *testing.T) {
	rho, a := fixture.Random("rho", 5, 5).Add(hand.CausalMask(5)).Softmax(), fixture.Random("a", 5, 3)
	mixed := rho.MatMul(a)
	near(t, "ã(1)", mixed.Tokens(0, 1), a.Tokens(0, 1))
	for i := range 5 {
		near(t, "ã(t)", mixed.Tokens(i, i+1), rho.Tokens(i, i+1).Columns(0, i+1).MatMul(a.Tokens(0, i+1)))
	}
}

// (49) The Frobenius product is invariant under a transpose on both sides, A·Bᵗ = Aᵗ·B, and under moving a factor
// around: A·(BCD) = (BᵗADᵗ)·C = (A(CD)ᵗ)·B = ((BC)ᵗA)·D.
func TestBoueEq49(t *testing.T) {
	a, b := fixture.Random("a", 3, 5), fixture.Random("b", 5, 3)
	equal := func(what string, got, want float64) {
		near(t, what, hand.NewMatrix(1, 1, got), hand.NewMatrix(1, 1, want))
	}
	equal("A·Bᵗ", dot(a, b.Transpose()), dot(a.Transpose(), b))
	p, c, q := fixture.Random("p", 3, 4), fixture.Random("c", 4, 2), fixture.Random("q", 2, 5)
	full := dot(a, p.MatMul(c).MatMul(q))
	equal("(BᵗADᵗ)·C", dot(p.Transpose().MatMul(a).MatMul(q.Transpose()), c), full)
	equal("(A(CD)ᵗ)·B", dot(a.MatMul(c.MatMul(q).Transpose()), p), full)
	equal("((BC)ᵗA)·D", dot(p.MatMul(c).Transpose().MatMul(a), q), full)
}

// (50) The row-wise product A⊖B, repeated along each row, is (A∘B)J with J all ones: a_i·b_i in every column of row i.
// Writing a_i·b_j in column j gives ABᵗ instead (erratum B6).
func TestBoueEq50(t *testing.T) {
	a, b := fixture.Random("a", 5, 5), fixture.Random("b", 5, 5)
	repeated := a.Mul(b).Sum().Add(hand.Zeros[float64](5, 5))
	near(t, "(A∘B)J", a.Mul(b).MatMul(ones(5, 5)), repeated)
	if got, want := repeated.At(3, 1), dot(a.Tokens(3, 4), b.Tokens(3, 4)); !(math.Abs(got-want) <= 1e-15) {
		t.Errorf("row 3: got %v, want a₃·b₃ = %v", got, want)
	}
	wrongBy(t, "ABᵗ", a.MatMul(b.Transpose()), repeated, 2.69)
}

// (51) (A∘B)·(B⊖C repeated) = ((A⊖B repeated)∘B)·C, the step that brings (25) into its form.
func TestBoueEq51(t *testing.T) {
	a, b, c := fixture.Random("a", 5, 5), fixture.Random("b", 5, 5), fixture.Random("c", 5, 5)
	left := dot(a.Mul(b), b.Mul(c).MatMul(ones(5, 5)))
	right := dot(a.Mul(b).MatMul(ones(5, 5)).Mul(b), c)
	near(t, "(A∘B)·(B⊖C repeated)", hand.NewMatrix(1, 1, left), hand.NewMatrix(1, 1, right))
}

// (52) The rows of AB add up to the row of A's column sums times B.
func TestBoueEq52(t *testing.T) {
	a, b := fixture.Random("a", 5, 5), fixture.Random("b", 5, 3)
	near(t, "Σ AB", a.MatMul(b).SumTokens(), a.SumTokens().MatMul(b))
}

// (53) The scores are G + H b̃ᵗ: G holds the parameters except the keys' bias b, and H holds the queries.
func TestBoueEq53(t *testing.T) {
	a := newAttention()
	g := a.q.MatMul(a.x.MatMul(a.p.Wk).Transpose())
	b := ones(6, 1).MatMul(a.p.Bk)
	near(t, "G + H b̃ᵗ", g.Add(a.q.MatMul(b.Transpose())), a.raw)
	shift := a.q.MatMul(b.Transpose())
	near(t, "H b̃ᵗ is constant along a row", shift, shift.Columns(0, 1).Add(hand.Zeros[float64](6, 6)))
	near(t, "λ_i = h_i·b", shift.Columns(0, 1), a.q.MatMul(a.p.Bk.Transpose())) // v_i·b in print, erratum B12
}

// (54) A number added to all scores of a row does not change its softmax.
func TestBoueEq54(t *testing.T) {
	g, h, b := fixture.Random("g", 6, 6), fixture.Random("h", 6, 3), fixture.Random("b", 1, 3)
	shift := h.MatMul(ones(6, 1).MatMul(b).Transpose())
	near(t, "softmax(G + H b̃ᵗ)", g.Add(shift).Softmax(), g.Softmax())
	near(t, "softmax(G + 1000)", g.Shift(1000).Softmax(), g.Softmax())
	wrongBy(t, "softmax of a shift per column", g.Add(shift.Transpose()).Softmax(), g.Softmax(), 0.0765)
}

// (55.a–b) The softmax of shuffled rows is the shuffled softmax; the same for columns.
func TestBoueEq55(t *testing.T) {
	p, q := permutation(3, 1, 5, 0, 2, 4), permutation(2, 0, 1)
	a := fixture.Random("a", 6, 3)
	near(t, "softmax(PA)", p.MatMul(a).Softmax(), p.MatMul(a.Softmax()))
	near(t, "softmax(AP)", a.MatMul(q).Softmax(), a.Softmax().MatMul(q))
}
