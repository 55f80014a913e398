package papers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/internal/structured"
	"github.com/pedestrian-ml/pedestrian/verify"
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
	near(
		t, "sim = exp", contiAttention(a.q, a.k, a.v, exponential), attentionForward(a.q, a.k, a.v, matrix{}, matrix{}),
	)
	constant := func(q, k matrix) float64 { return 2 }
	near(t, "sim = 2", contiAttention(a.q, a.k, a.v, constant), ones(6, 6).Scale(1./6).MatMul(a.v))
	near(
		t, "sim = 2, by hand", linearAttentionForward(ones(6, 2), ones(6, 2), a.v, matrix{}),
		contiAttention(a.q, a.k, a.v, constant),
	)
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
func contiUnit(x matrix) matrix { return x.Div(x.Square().Sum().Sqrt()) }

// (16) A kernel is the product of feature maps: (1 + x·y)² belongs to the features 1, √2 x and all products xᵢxⱼ, and
// the first-order 1 + x·y to 1 and x. The quadratic form of such a kernel is a square and never negative; the form of
// −|x − y|², which is not a kernel, is negative somewhere.
func TestContiEq16(t *testing.T) {
	x := fixture.Random("points", 7, 3).Scale(3)
	products := make([]matrix, 3)
	for i := range products {
		products[i] = x.Mul(x.Columns(i, i+1))
	}
	one := ones(7, 1)
	square := hand.Join(append(products, one, x.Scale(math.Sqrt2))...)
	first := hand.Join(one, x)
	gram := x.MatMul(x.Transpose())
	near(t, "(1 + x·y)²", square.MatMul(square.Transpose()), gram.Shift(1).Square())
	near(t, "1 + x·y", first.MatMul(first.Transpose()), gram.Shift(1))
	values, kernel := fixture.Random("values", 7, 4), gram.Shift(1).Square()
	near(
		t, "V'", linearAttentionForward(square, square, values, matrix{}),
		kernel.Div(kernel.Sum()).MatMul(values),
	)
	lengths := x.Square().Sum()
	distances := lengths.Add(lengths.Transpose()).Sub(gram.Scale(2))
	form := func(k, a matrix) float64 { return dot(a, k.MatMul(a)) }
	for _, name := range []string{"a", "b", "c", "d"} {
		a := fixture.Random(name, 7, 1)
		for what, k := range map[string]matrix{
			"(1 + x·y)²": gram.Shift(1).Square(), "1 + x·y": gram.Shift(1), "exp": gram.Exp(),
		} {
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
	near(t, "V' of the prefixes", linearScanForward(q, k, a.v), masked.Div(masked.Sum()).MatMul(a.v))
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
	near(
		t, "V' by hand",
		linearAttentionForward(taylorFeaturesForward(a.q, 0), taylorFeaturesForward(a.k, 0), a.v, matrix{}), right,
	)
	if weights := q.MatMul(k.Transpose()).Shift(1); frobenius(weights.Step().Shift(-1)) != 0 {
		t.Errorf("weights: got %v, want them above 0", weights.Data)
	}
	first := down.Shift(1).MatMul(sum).Div(q.Shift(1).MatMul(keys.Transpose()))
	wrongBy(t, "first display", first, right, 4.13)
	own := q.Mul(k).Sum()
	wrongBy(t, "second display", sum.Add(own.Mul(a.v)).Div(down.Shift(n)), right, 0.496)
	wrongBy(t, "first order for softmax", right, attentionForward(a.q, a.k, a.v, matrix{}, matrix{}), 0.244)
}

// The display before (18) multiplies exp(A) by D_A⁻¹ from the right, and its A is already the softmax. The row sums
// divide rows: D_A⁻¹ exp(A) with A = Q Kᵗ/√k (erratum C6).
func TestContiNormaliser(t *testing.T) {
	a := newAttention()
	e, rho := a.scaled.Exp(), a.scaled.Softmax()
	inverse := lifted(each(e.Sum().Transpose(), func(v float64) float64 { return 1 / v }))
	near(t, "D⁻¹ exp(A)", inverse.MatMul(e), rho)
	printed := e.MatMul(inverse)
	wrongBy(t, "exp(A) D⁻¹", printed, rho, 0.755)
	stated(t, "largest row sum", printed.Sum().Transpose().RowMax().Data[0], 1.54)
}

// (18) P RᵗR v is close to P v with a probability that approaches 1 as R gets more rows. That needs entries of mean 0
// and variance 1/k', which the text omits (erratum C7): then the mean of |P RᵗR v − P v|² is (‖P‖²‖v‖² + |Pv|²)/k'.
func TestContiEq18(t *testing.T) {
	const n, draws, epsilon = 6, 300, 0.5
	a, v := newAttention(), fixture.Random("v", n, 1).Shift(0.5)
	p := a.scaled.Softmax()
	want := p.MatMul(v)
	rng, last := rand.New(rand.NewPCG(18, 0)), 0.0
	for _, rows := range []int{4, 64, 1024} {
		within, square := 0.0, 0.0
		for range draws {
			r := hand.Zeros[float64](rows, n)
			for i := range r.Data {
				r.Data[i] = rng.NormFloat64() / math.Sqrt(float64(rows))
			}
			miss := frobenius(p.MatMul(r.Transpose().MatMul(r.MatMul(v))).Sub(want))
			if square += miss * miss / draws; miss < epsilon*frobenius(want) {
				within += 1. / draws
			}
		}
		expected := (dot(p, p)*dot(v, v) + dot(want, want)) / float64(rows)
		if !(math.Abs(square-expected) <= 0.25*expected) {
			t.Errorf("%d rows: got a mean square of %v, want about %v", rows, square, expected)
		}
		if !(within > last) {
			t.Errorf("%d rows: within %v with probability %v, want more than %v", rows, epsilon, within, last)
		}
		last = within
	}
	if last < 0.99 {
		t.Errorf("1024 rows: got probability %v, want nearly 1", last)
	}
}

// (19) Keys and values are mixed from n rows to k' before the softmax; with E = F = 1 it is attention. F V is (k', k),
// not the printed (k', d), and no mask makes it causal: every mixed key depends on the last token (erratum C7).
func TestContiEq19(t *testing.T) {
	a, none := newAttention(), matrix{}
	e, f := fixture.Random("E", 4, 6), fixture.Random("F", 4, 6)
	out := linformerForward(a.q, a.k, a.v, e, f, none)
	near(t, "head", out, a.q.MatMul(e.MatMul(a.k).Transpose()).Scale(1/math.Sqrt(3)).Softmax().MatMul(f).MatMul(a.v))
	if mixed := f.MatMul(a.v); mixed.Rows != 4 || mixed.Cols != 5 {
		t.Errorf("F V: got (%d, %d), want k' rows as wide as a value, (4, 5)", mixed.Rows, mixed.Cols)
	}
	one := permutation(natural(6)...)
	near(t, "E = F = 1", linformerForward(a.q, a.k, a.v, one, one, none), attentionForward(a.q, a.k, a.v, none, none))

	last := hand.JoinTokens(a.k.Tokens(0, 5), a.k.Tokens(5, 6).Scale(-1))
	moved := linformerForward(a.q, last, a.v, e, f, none)
	if slices.Equal(moved.Tokens(0, 1).Data, out.Tokens(0, 1).Data) {
		t.Error("the first output does not depend on the last key")
	}
	wrongBy(t, "first output after the last key changed", moved.Tokens(0, 1), out.Tokens(0, 1), 0.148)
}

// Chapter 3 has ⟨q, k⟩ in ℝ⁺ and drops 1/√k from α; with the normalised dot product, Σ⟨q, kᵢ⟩vᵢ/Σ⟨q, kᵢ⟩, the weights
// still sum to 1 but some are negative: it is not a convex combination (erratum C17).
func TestContiPooling(t *testing.T) {
	a := newAttention()
	weights := a.raw.Div(a.raw.Sum())
	near(t, "Σ α", weights.Sum(), ones(6, 1))
	stated(t, "smallest weight", -weights.Scale(-1).RowMax().Transpose().RowMax().Data[0], -1.11)
	negative := 0
	for _, v := range a.raw.Data {
		if v < 0 {
			negative++
		}
	}
	if negative == 0 {
		t.Error("⟨q, k⟩: got none below 0")
	}
	wrongBy(t, "α without 1/√k", a.raw.Softmax(), a.scaled.Softmax(), 0.282)
}

// nested returns x as a matrix of internal/structured; flat is its inverse.
func nested(x matrix) [][]float64 {
	rows := make([][]float64, x.Rows)
	for i := range rows {
		rows[i] = x.Tokens(i, i+1).Data
	}
	return rows
}

// checked returns x. Arguments of these tests cause no error.
func checked[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func flat(x [][]float64) matrix {
	out := hand.Zeros[float64](0, len(x))
	for _, row := range x {
		out.Rows, out.Data = out.Rows+1, append(out.Data, row...)
	}
	return out
}

// (20) Attention with P + Ẽ for its weights. With the best band matrix as P and the rest as Ẽ, P + Ẽ equals the weights
// if ε is at least the weight outside the band. A P with a column of ones gives all its rows the same value.
func TestContiEq20(t *testing.T) {
	a := newAttention()
	rho := a.scaled.Softmax()
	one, band := permutation(natural(6)...), flat(checked(structured.Project(nested(rho), 2)))
	rest := rho.Sub(band)
	near(t, "(I P + Ẽ) V", one.MatMul(band).Add(rest).MatMul(a.v), attentionForward(a.q, a.k, a.v, matrix{}, matrix{}))
	near(t, "P + Ẽ", flat(checked(structured.Add(nested(band), nested(rest)))), rho)
	largest := 0.0
	for i, v := range rho.Data {
		if between(i/6, i%6) > 2 {
			largest = max(largest, v)
		}
	}
	near(t, "ε", hand.NewMatrix(1, 1, verify.Largest(parameters{"Ẽ": rest})), hand.NewMatrix(1, 1, largest))
	if outside := checked(structured.OffBand(nested(band), 2)); outside != 0 || largest == 0 {
		t.Errorf("P: got %v outside of the band, where the weights are up to %v", outside, largest)
	}

	columns, err := structured.Columns(6, structured.Group{Token: 3, From: 2, To: 5})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "P V", flat(columns).MatMul(a.v), embeddingForward(a.v, []int{0, 1, 3, 3, 3, 5}))
}

// (21) P is the identity, a band with entries dropped, or an identity with columns of ones. Their rows sum to 1, and
// all of them lie on a band. (Σ1 is the set {Iₙ}, erratum C11.)
func TestContiEq21(t *testing.T) {
	const n, w = 16, 3
	rng := rand.New(rand.NewPCG(21, 0))
	for range 50 {
		groups, err := structured.Groups(n, w, 2, rng)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := structured.Columns(n, groups...)
		if err != nil {
			t.Fatal(err)
		}
		for what, p := range map[string][][]float64{
			"Σ1": checked(structured.Identity(n)), "Σ2": checked(structured.Band(n, w, 0.3, rng)), "Σ3": columns,
		} {
			near(t, what, flat(p).Sum(), ones(n, 1))
			if outside := checked(structured.OffBand(p, w)); outside != 0 {
				t.Errorf("%s: got %v outside of the band", what, outside)
			}
		}
	}
}

// (22) Σ|m| is a norm, and A on the band is the nearest band matrix; its distance is the part of A outside the band. It
// does not come from an inner product: the parallelogram law fails, 8 against 4, and with it the theorem that is
// invoked (erratum C11).
func TestContiEq22(t *testing.T) {
	a, zero := newAttention(), nested(hand.Zeros[float64](6, 6))
	x, y := a.raw, a.scaled.Softmax()
	norm := func(x matrix) float64 { return checked(structured.Distance(nested(x), zero)) }
	if !(norm(x.Add(y)) <= norm(x)+norm(y)) || norm(x) == 0 || norm(hand.Zeros[float64](6, 6)) != 0 {
		t.Errorf("got %v, %v and %v for the sum", norm(x), norm(y), norm(x.Add(y)))
	}
	near(t, "|−3M|", hand.NewMatrix(1, 1, norm(x.Scale(-3))), hand.NewMatrix(1, 1, 3*norm(x)))

	const w = 2
	outside := y.Mul(visible(6, func(i, j int) bool { return i-j > w || j-i > w }).Exp())
	distance := checked(structured.Distance(nested(y), checked(structured.Project(nested(y), w))))
	near(t, "|H − B|", hand.NewMatrix(1, 1, distance), outside.SumTokens().Sum())

	first, second := oneHotRows([]int{0, hand.Ignore}, 2), oneHotRows([]int{hand.Ignore, 1}, 2)
	small := func(x matrix) float64 {
		return math.Pow(checked(structured.Distance(nested(x), nested(hand.Zeros[float64](2, 2)))), 2)
	}
	if left, right := small(first.Add(second))+small(first.Sub(second)), 2*small(first)+2*small(second); left != 8 ||
		right != 4 {
		t.Errorf("parallelogram: got %v and %v, want 8 and 4", left, right)
	}
}

// (23) The errors have size at most ε, and so have their limits: at most ε, not less than ε (erratum C11). Two such
// matrices are up to (1 + 2ε)n₁ + 2εn₂ apart; the printed n₁ + εn₂ has no errors on the band and the same sign for
// those outside it (erratum C10).
func TestContiEq23(t *testing.T) {
	const n, w, epsilon = 4, 1, 0.1
	rng := rand.New(rand.NewPCG(23, 0))
	for range 50 {
		for _, row := range checked(structured.Noise(n, epsilon, 0.5, rng)) {
			for _, v := range row {
				if !(math.Abs(v) <= epsilon) {
					t.Errorf("got error %v, want at most %v", v, epsilon)
				}
			}
		}
	}

	band := visible(n, func(i, j int) bool { return i-j <= w && j-i <= w }).Exp()
	high, low := band.Shift(epsilon), hand.Zeros[float64](n, n).Shift(-epsilon)
	n1 := dot(band, band)
	near(
		t, "|X₁ − X₂|", hand.NewMatrix(1, 1, checked(structured.Distance(nested(high), nested(low)))),
		hand.NewMatrix(1, 1, 13.2),
	)
	near(t, "bound", hand.NewMatrix(1, 1, structured.Bound(n, w, epsilon)), hand.NewMatrix(1, 1, 13.2))
	near(t, "bound as printed", hand.NewMatrix(1, 1, n1+epsilon*(n*n-n1)), hand.NewMatrix(1, 1, 10.6))
}
