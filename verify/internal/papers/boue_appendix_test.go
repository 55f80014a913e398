package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

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
	repeated := a.Mul(b).SumFeatures().Add(hand.Zeros[float64](5, 5))
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
