package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (14) V' is (7) under another name: softmax(Q Kᵗ/√k) V, whose rows lie between the smallest and the largest value.
func TestContiEq14(t *testing.T) {
	a := newAttention()
	out := attentionForward(a.q, a.k, a.v, matrix{}, matrix{})
	near(t, "V'", out, a.scaled.Softmax().MatMul(a.v))
	top, bottom := a.v.Transpose().RowMax().Transpose(), a.v.Scale(-1).Transpose().RowMax().Transpose().Scale(-1)
	if inside := top.Sub(out).Step().Mul(out.Sub(bottom).Step()); frobenius(inside.Shift(-1)) != 0 {
		t.Errorf("got %v, want averages of %v", out.Data, a.v.Data)
	}
}

// contiAttention returns (15) for any similarity of a query and a key, both rows.
func contiAttention(q, k, v matrix, sim func(q, k matrix) float64) matrix {
	rows := make([]matrix, q.Rows)
	for i := range rows {
		sum, norm := hand.Zeros[float64](1, v.Cols), 0.0
		for j := range k.Rows {
			s := sim(q.Tokens(i, i+1), k.Tokens(j, j+1))
			sum, norm = sum.Add(v.Tokens(j, j+1).Scale(s)), norm+s
		}
		rows[i] = sum.Scale(1 / norm)
	}
	return hand.JoinTokens(rows...)
}

// (15) Attention with any similarity in place of the exponential; with e^(q·k/√k) it is (14), and with a constant it is
// the mean of the values.
func TestContiEq15(t *testing.T) {
	a := newAttention()
	exponential := func(q, k matrix) float64 { return math.Exp(dot(q, k) / math.Sqrt(3)) }
	near(t, "sim = exp", contiAttention(a.q, a.k, a.v, exponential), attentionForward(a.q, a.k, a.v, matrix{}, matrix{}))
	constant := func(q, k matrix) float64 { return 2 }
	near(t, "sim = 2", contiAttention(a.q, a.k, a.v, constant), ones(6, 6).Scale(1./6).MatMul(a.v))
	near(t, "sim = 2, by hand", linearAttentionForward(ones(6, 2), ones(6, 2), a.v, matrix{}), contiAttention(a.q, a.k, a.v, constant))
}

// contiPhi returns the usual feature map of linear attention, elu(x) + 1: eˣ for x ≤ 0 and x + 1 otherwise.
func contiPhi(x matrix) matrix {
	return each(x, func(v float64) float64 {
		if v > 0 {
			return v + 1
		}
		return math.Exp(v)
	})
}

// contiUnit returns the rows, each divided by its length.
func contiUnit(x matrix) matrix { return x.Div(x.Square().SumFeatures().Sqrt()) }

// (16) A kernel is the product of feature maps: (1 + x·y)² is that of 1, √2 x and all products xᵢxⱼ, the first-order 1
// + x·y that of 1 and x. The quadratic form of such a kernel is a square and never negative; that of −|x − y|², which
// is not a kernel, is negative somewhere.
func TestContiEq16(t *testing.T) {
	x := fixture.Random("points", 7, 3).Scale(3)
	products := make([]matrix, 3)
	for i := range products {
		products[i] = x.Mul(x.Columns(i, i+1))
	}
	one := ones(7, 1)
	square := hand.JoinColumns(append(products, one, x.Scale(math.Sqrt2))...)
	first := hand.JoinColumns(one, x)
	gram := x.MatMul(x.Transpose())
	near(t, "(1 + x·y)²", square.MatMul(square.Transpose()), gram.Shift(1).Square())
	near(t, "1 + x·y", first.MatMul(first.Transpose()), gram.Shift(1))
	values, kernel := fixture.Random("values", 7, 4), gram.Shift(1).Square()
	near(t, "V'", linearAttentionForward(square, square, values, matrix{}), kernel.Div(kernel.SumFeatures()).MatMul(values))
	lengths := x.Square().SumFeatures()
	distances := lengths.Add(lengths.Transpose()).Sub(gram.Scale(2))
	form := func(k, a matrix) float64 { return dot(a, k.MatMul(a)) }
	for _, name := range []string{"a", "b", "c", "d"} {
		a := fixture.Random(name, 7, 1)
		for what, k := range map[string]matrix{"(1 + x·y)²": gram.Shift(1).Square(), "1 + x·y": gram.Shift(1), "exp": gram.Exp()} {
			if got := form(k, a); !(got > 0) {
				t.Errorf("%s: got aᵗKa = %v, want it above 0", what, got)
			}
		}
	}
	if got := form(distances.Scale(-1), one); !(got < 0) {
		t.Errorf("−|x − y|²: got aᵗKa = %v, want it below 0", got)
	}
}

// (17) With sim = φ(q)·φ(k) the sums over the keys can be taken first, once for all queries: φ(q)(φ(K)ᵗV)/φ(q)Σφ(k).
// The masked form sums the keys up to i.
func TestContiEq17(t *testing.T) {
	a := newAttention()
	q, k := eluPlusOneForward(a.q), eluPlusOneForward(a.k)
	near(t, "φ(q)", q, contiPhi(a.q))
	quadratic := contiAttention(a.q, a.k, a.v, func(q, k matrix) float64 { return dot(contiPhi(q), contiPhi(k)) })
	linear := q.MatMul(k.Transpose().MatMul(a.v)).Div(q.MatMul(k.SumTokens().Transpose()))
	near(t, "V'", linear, quadratic)
	near(t, "V' by hand", linearAttentionForward(q, k, a.v, matrix{}), quadratic)
	masked := q.MatMul(k.Transpose()).Mul(a.binary)
	near(t, "V' of the prefixes", linearScanForward(q, k, a.v), masked.Div(masked.SumFeatures()).MatMul(a.v))
}

// The first-order form of section 2.1.2 has the weights 1 + q̂·k̂ⱼ. Its first display sums k̂ⱼ within the sum over j
// and adds 1 to a vector; the second leaves a j free, here j = i, unless its sum covers both terms (erratum C5). Either
// way it is not the original attention: the lengths of queries and keys and 1/√k are missing.
func TestContiTaylor(t *testing.T) {
	a := newAttention()
	q, k, n := contiUnit(a.q), contiUnit(a.k), 6.
	sum, keys := a.v.SumTokens(), k.SumTokens()
	down := q.MatMul(keys.Transpose())
	linear := sum.Add(q.MatMul(k.Transpose().MatMul(a.v))).Div(down.Shift(n))
	right := contiAttention(q, k, a.v, func(q, k matrix) float64 { return 1 + dot(q, k) })
	near(t, "V'", linear, right)
	near(t, "V' by hand", linearAttentionForward(taylorFeaturesForward(a.q, 0), taylorFeaturesForward(a.k, 0), a.v, matrix{}), right)
	if weights := q.MatMul(k.Transpose()).Shift(1); frobenius(weights.Step().Shift(-1)) != 0 {
		t.Errorf("weights: got %v, want them above 0", weights.Data)
	}
	first := down.Shift(1).MatMul(sum).Div(q.Shift(1).MatMul(keys.Transpose()))
	wrongBy(t, "first display", first, right, 4.13)
	own := q.Mul(k).SumFeatures()
	wrongBy(t, "second display", sum.Add(own.Mul(a.v)).Div(down.Shift(n)), right, 0.496)
	wrongBy(t, "first order for softmax", right, attentionForward(a.q, a.k, a.v, matrix{}, matrix{}), 0.244)
}
