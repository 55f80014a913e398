package papers

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (26) ∇Xattn and ∇ around the attention are both ∇Xadd1. What the paper calls X⁽⁰⁾ here is the input X⁽ˡ⁻¹⁾ of the
// block (erratum D2): in the second block the ∇ arrives at X⁽¹⁾.
func TestDiabEq26(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		incoming := s.nabla(t, in("Xadd1"))
		near(t, in("∇Xattn"), incoming, s.nabla(t, in("Xattn")))
		near(t, in("∇res X"), incoming, s.nabla(t, in("in.res")))
	})
	wrongBy(t, "∇Xadd1 of block 2 as that around block 1", s.nabla(t, "2 Xadd1"), s.nabla(t, "1 in.res"), 0.555)
}

// (27) Through the output projection of the attention, a linear layer as (21).
func TestDiabEq27(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		s.affine(t, layer+"attn.c_proj", in("H"), s.nabla(t, in("Xattn")))
	})
}

// (28) Each head gets its columns of ∇H.
func TestDiabEq28(t *testing.T) {
	s := newStudy(t)
	s.eachHead(func(l, j int, in func(string) string, own func(string) string) {
		slice := s.nabla(t, in("H")).Columns(j*fixture.Values, (j+1)*fixture.Values)
		near(t, own("∇head"), slice, s.nabla(t, own("head")))
	})
}

// eachHead calls f for the heads j = 0 … h−1 of all blocks, with functions that return the names of a block's and of a
// head's activations.
func (s study) eachHead(f func(l, j int, in func(string) string, own func(string) string)) {
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		for j := range s.Heads {
			f(l, j, in, func(name string) string { return in(fmt.Sprint(name, j)) })
		}
	})
}

// (29) Through the product with the values: ∇A = ∇Vᵗ and ∇V = Aᵗ∇.
func TestDiabEq29(t *testing.T) {
	s := newStudy(t)
	s.eachHead(func(l, j int, in func(string) string, own func(string) string) {
		_, _, v := s.head(in, j)
		_, _, wantV := s.nablaHead(t, in, j)
		near(t, own("∇A"), s.nabla(t, own("head")).MatMul(v.Transpose()), s.nabla(t, own("A")))
		near(t, own("∇V"), s.a[own("A")].Transpose().MatMul(s.nabla(t, own("head"))), wantV)
		_, _, dv := s.attentionBackward(t, in, j)
		near(t, own("∇V by hand"), dv, wantV)
	})
}

// nablaHead returns ∇ at the queries, keys and values of a head.
func (s study) nablaHead(t *testing.T, in func(string) string, j int) (q, k, v matrix) {
	t.Helper()
	return split(multiHead{Batch: 1, Heads: s.Heads, QK: s.QK}, s.nabla(t, in("QKV")), 0, j)
}

func (s study) attentionBackward(t *testing.T, in func(string) string, j int) (dq, dk, dv matrix) {
	t.Helper()
	q, k, v := s.head(in, j)
	return attentionBackward(q, k, v, hand.CausalMask(s.Context), matrix{}, s.nabla(t, in(fmt.Sprint("head", j))))
}

// (30) Through the softmax: ∇S = ∇A ⊙ A − A ⊙ rowsum(∇A ⊙ A), of J = diag(a) − aaᵗ.
func TestDiabEq30(t *testing.T) {
	s := newStudy(t)
	s.eachHead(func(l, j int, in func(string) string, own func(string) string) {
		a, incoming, want := s.a[own("A")], s.nabla(t, own("A")), s.nabla(t, own("S"))
		near(t, own("∇S"), incoming.Mul(a).Sub(a.Mul(incoming.Mul(a).Sum())), want)
		for i := range a.Rows {
			row := a.Tokens(i, i+1)
			jacobian := lifted(row).Sub(row.Transpose().MatMul(row))
			near(t, own("J∇a"), incoming.Tokens(i, i+1).MatMul(jacobian), want.Tokens(i, i+1))
		}
		vanishes(t, own("rows of ∇S"), want.Sum())
	})
}

// (31) Through the scores: ∇Q = ∇S K/√d_head, ∇K = ∇Sᵗ Q/√d_head. The mask needs no line: ∇S is zero where A is.
func TestDiabEq31(t *testing.T) {
	s := newStudy(t)
	s.eachHead(func(l, j int, in func(string) string, own func(string) string) {
		q, k, _ := s.head(in, j)
		wantQ, wantK, _ := s.nablaHead(t, in, j)
		ds := s.nabla(t, own("S"))
		near(t, own("∇Q"), ds.MatMul(k).Scale(1/math.Sqrt(fixture.QK)), wantQ)
		near(t, own("∇K"), ds.Transpose().MatMul(q).Scale(1/math.Sqrt(fixture.QK)), wantK)
		dq, dk, _ := s.attentionBackward(t, in, j)
		near(t, own("∇Q by hand"), dq, wantQ)
		near(t, own("∇K by hand"), dk, wantK)
		near(t, own("∇S under the mask"), ds.Mul(hand.CausalMask(s.Context).Exp()), ds)
	})
}

// projections calls f for Q, K and V of each block with the columns of the packed layer.
func (s study) projections(f func(l, from, to int, in func(string) string, layer, name string)) {
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		for i, name := range []string{"Q", "K", "V"} {
			from, to := columnsOf(i)
			f(l, from, to, in, layer+"attn.c_attn", in(name))
		}
	})
}

// (32) With the heads' ∇ side by side, ∇W = Xln1ᵗ∇ for queries, keys and values.
func TestDiabEq32(t *testing.T) {
	s := newStudy(t)
	s.projections(func(l, from, to int, in func(string) string, layer, name string) {
		x, incoming := s.a[in("Xln1")], s.nabla(t, in("QKV")).Columns(from, to)
		want := s.nabla(t, layer+".weight").Columns(from, to)
		near(t, name+" ∇W", x.Transpose().MatMul(incoming), want)
		_, dw, _ := linearBackward(x, s.Parameters[layer+".weight"].Columns(from, to), incoming)
		near(t, name+" ∇W by hand", dw, want)
	})
}

// (33) The biases have the sums of the rows. For the keys that is zero (Boué (29)), which the paper does not state.
func TestDiabEq33(t *testing.T) {
	s := newStudy(t)
	s.projections(func(l, from, to int, in func(string) string, layer, name string) {
		sum, want := sumRows(s.nabla(t, in("QKV")).Columns(from, to)), s.nabla(t, layer+".bias").Columns(from, to)
		if name == in("K") {
			vanishes(t, name+" Σ ∇", sum)
			vanishes(t, name+" ∇β", want)
			return
		}
		near(t, name+" ∇β", sum, want)
		near(t, name+" ∇β by hand", s.g.Parameters[layer+".bias"].Columns(from, to), want)
	})
}

// (34) The normalised input collects ∇ from queries, keys and values.
func TestDiabEq34(t *testing.T) {
	s := newStudy(t)
	sums := map[int]matrix{}
	s.projections(func(l, from, to int, in func(string) string, layer, name string) {
		w := s.Parameters[layer+".weight"].Columns(from, to)
		through := s.nabla(t, in("QKV")).Columns(from, to).MatMul(w.Transpose())
		if sum, ok := sums[l]; ok {
			through = sum.Add(through)
		}
		sums[l] = through
	})
	for l, sum := range sums {
		want := s.nabla(t, inBlock(l, "Xln1"))
		near(t, "∇Xln1", sum, want)
		near(t, "∇Xln1 by hand", s.delta(t, fmt.Sprintf("h.%d.ln_1", l-1)), want)
	}
}

// (35) Gain and shift of the first LayerNorm, as (18), with x̂ of the block's input X⁽ˡ⁻¹⁾. With X⁽⁰⁾ as printed the
// gain of the second block is wrong (erratum D2); with one block it could not be detected.
func TestDiabEq35(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		s.gainAndShift(t, layer+"ln_1", fmt.Sprintf("X(%d)", l-1), s.nabla(t, in("Xln1")))
	})
	printed := printedGain(s.a["X(0)"], s.nabla(t, "2 Xln1"), s.Eps)
	wrongBy(t, "∇γ₁ of block 2 with X(0)", printed, s.nabla(t, "h.1.ln_1.weight"), 0.571)
}

// (36) ∇ through the first LayerNorm, row by row, again at X⁽ˡ⁻¹⁾ and not at X⁽⁰⁾ (erratum D2).
func TestDiabEq36(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		s.throughNorm(t, layer+"ln_1", fmt.Sprintf("X(%d)", l-1), s.nabla(t, in("Xln1")), s.nabla(t, in("in.ln")))
	})
	printed := printedNorm(s.a["X(0)"], s.Parameters["h.1.ln_1.weight"], s.nabla(t, "2 Xln1"), s.Eps)
	wrongBy(t, "∇x of block 2 with X(0)", printed, s.nabla(t, "2 in.ln"), 3.71)
}

// (37) The input of the block collects ∇ around the attention and ∇ through the first LayerNorm. It is X⁽ˡ⁻¹⁾, the
// output of the block before: only for l = 1 is it X⁽⁰⁾ (erratum D2).
func TestDiabEq37(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		around, through := s.nabla(t, in("in.res")), s.nabla(t, in("in.ln"))
		want := s.nabla(t, fmt.Sprintf("X(%d)", l-1))
		near(t, in("∇X"), around.Add(through), want)
		near(t, in("∇X by hand"), residualBackward(around, through), want)
		dx, _, err := blockBackward(s.Plan, s.Parameters, l-1, formula.A1, s.nabla(t, fmt.Sprintf("X(%d)", l)))
		if err != nil {
			t.Fatal(err)
		}
		near(t, in("∇X of the block"), dx, want)
	})
	ofTwo := s.nabla(t, "2 in.res").Add(s.nabla(t, "2 in.ln"))
	wrongBy(t, "the sum of block 2 as ∇X(0)", ofTwo, s.nabla(t, "X(0)"), 0.87)
}

// Section 2.2: the causal mask is −∞ where i < j, the sparse one everywhere except for j from i−w+1 to i, and masks are
// added. The text around the causal mask allows a token to see either those before it or those after it (erratum D8);
// the formula means the former.
func TestDiabMasks(t *testing.T) {
	const n = 6
	for w := 1; w <= n+2; w++ {
		causal, sparse := hand.Zeros[float64](n, n), hand.Zeros[float64](n, n)
		for i := range n {
			for j := range n {
				if i < j {
					causal.Data[i*n+j] = math.Inf(-1)
				}
				if j < i-w+1 || j > i {
					sparse.Data[i*n+j] = math.Inf(-1)
				}
			}
		}
		if got := hand.CausalMask(n); !slices.Equal(got.Data, causal.Data) {
			t.Errorf("causal: got %v, want %v", got.Data, causal.Data)
		}
		if got := hand.WindowMask(n, w); !slices.Equal(got.Data, sparse.Data) {
			t.Errorf("window of %d: got %v, want %v", w, got.Data, sparse.Data)
		}
		if w >= n && !slices.Equal(sparse.Data, causal.Data) {
			t.Errorf("window of %d over %d tokens: got %v, want the causal mask", w, n, sparse.Data)
		}
	}
	a := newAttention()
	near(t, "weights in a window of one", attentionWeights(a.q, a.k, hand.WindowMask(n, 1)), permutation(natural(n)...))

	// In the other reading a token sees the text that it has to predict.
	future := hand.CausalMask(n).Transpose()
	none := matrix{}
	wrongBy(
		t, "head that looks ahead", attentionForward(a.q, a.k, a.v, future, none),
		attentionForward(a.q, a.k, a.v, a.mask, none), 0.791,
	)
	weights := attentionWeights(a.q, a.k, future)
	if got := weights.Mul(a.binary).SumTokens().Sum().Data[0]; !(got < 0.5*n) {
		t.Errorf("looking ahead: %v of %d is on tokens up to the own one, want less than half", got, n)
	}
	near(t, "weights on the past and the present", a.rho.Mul(a.binary).Sum(), ones(n, 1))
}

// Section 2.2 sets "the padding tokens" to −10⁹ and takes the softmax over rows. It must be the columns of the padding,
// the keys. The same number in an entire row of the padding, a query, changes nothing, and all tokens still attend to
// the padding (erratum D3b).
func TestDiabPaddingHidesKeys(t *testing.T) {
	a, padding := newAttention(), []bool{false, false, false, true, true, true}
	const n = 6
	onPadding := func(rho matrix) float64 { return rho.Columns(3, n).SumTokens().Sum().Data[0] / n }
	rows := hand.Zeros[float64](n, n)
	for i := 3 * n; i < n*n; i++ {
		rows.Data[i] = -1e9
	}
	printed := a.scaled.Add(rows).Softmax()
	if unmasked := a.scaled.Softmax(); !(frobenius(printed.Sub(unmasked)) <= 1e-6) { // 10⁹ leaves seven digits
		t.Errorf("masked rows: got weights %v, want the unmasked %v", printed.Data, unmasked.Data)
	}
	if got := onPadding(printed); !(math.Abs(got-0.492) <= 0.001) {
		t.Errorf("masked rows: got %.3f of the attention on padding, want 0.492", got)
	}
	if got := onPadding(attentionWeights(a.q, a.k, hand.PaddingMask(padding))); got != 0 {
		t.Errorf("masked columns: got %v of the attention on padding, want 0", got)
	}

	// The content of the padding must not matter to other tokens.
	other := a
	other.x = hand.JoinTokens(a.x.Tokens(0, 3), fixture.Random("other padding", 3, 8))
	right := headForward(a.x, a.p, hand.PaddingMask(padding), matrix{})
	for _, mask := range []matrix{hand.PaddingMask(padding), hand.CausalMask(n).Add(hand.PaddingMask(padding))} {
		got := headForward(other.x, a.p, mask, matrix{}).Tokens(0, 3)
		if want := headForward(a.x, a.p, mask, matrix{}).Tokens(0, 3); !slices.Equal(got.Data, want.Data) {
			t.Errorf("masked columns: got %v after a change of the padding, want %v", got.Data, want.Data)
		}
	}
	literal := headForward(a.x, a.p, rows, matrix{})
	wrongBy(t, "head with masked rows", literal.Tokens(0, 3), right.Tokens(0, 3), 0.438)
}

// Section 2.2 takes −10⁹ for −∞ to avoid NaN. If a query sees a key the two agree to the bit. A query that sees none,
// such as the first of a text padded on its left, would silently attend to hidden keys: in float64 as if there were no
// mask, in float32 to all of them equally. −∞ gives a NaN instead (erratum D3): such masks are an error, unless the
// query itself is padding and may see itself.
func TestDiabFullyMaskedRow(t *testing.T) {
	scores := hand.NewMatrix(1, 3, 1.0, 2, 3)
	hidden := ones(1, 3)
	finite, infinite := scores.Add(hidden.Scale(-1e9)), scores.Add(hidden.Scale(math.Inf(-1)))
	near(t, "float64", finite.Softmax(), scores.Softmax())
	for i, want := range []float64{0.09, 0.24, 0.67} {
		if got := finite.Softmax().Data[i]; !(math.Abs(got-want) <= 0.005) {
			t.Errorf("float64: got weight %v, want the unmasked %v", got, want)
		}
	}
	narrow := hand.Zeros[float64](1, 3)
	for i, s := range scores.Data {
		narrow.Data[i] = float64(float32(s) + float32(-1e9))
	}
	near(t, "float32", narrow.Softmax(), hidden.Scale(1./3))
	for i, got := range infinite.Softmax().Data {
		if !math.IsNaN(got) {
			t.Errorf("−∞: got weight %v of key %d, want NaN", got, i)
		}
	}

	a := newAttention()
	left := []bool{true, true, false, false, false, false}
	mask := hand.CausalMask(6).Add(hand.PaddingMask(left))
	finiteMask, self := each(mask, func(x float64) float64 { return max(x, -1e9) }), mask
	self.Data = slices.Clone(mask.Data)
	self.Data[0], self.Data[7] = 0, 0
	rho, large := attentionWeights(a.q, a.k, mask), attentionWeights(a.q, a.k, finiteMask)
	seen := attentionWeights(a.q, a.k, self)
	for i := range 6 {
		row := func(x matrix) []float64 { return x.Tokens(i, i+1).Data }
		if blind := i < 2; blind != math.IsNaN(row(rho)[0]) {
			t.Errorf("query %d: got weights %v, want NaN only if it sees no key", i, row(rho))
		} else if !blind && (!slices.Equal(row(large), row(rho)) || !slices.Equal(row(seen), row(rho))) {
			t.Errorf(
				"query %d: got weights %v with −10⁹, %v where padding sees itself, want %v", i, row(large), row(seen),
				row(rho),
			)
		} else if blind && (seen.At(i, i) != 1 || !(large.At(i, i+1) > 0.01)) {
			t.Errorf("padding %d: got weights %v with −10⁹, %v where it sees itself", i, row(large), row(seen))
		}
	}
}

// Section 2.5 zeroes a share p and leaves the rest as it is. The input of the next layer in training is then 1−p of
// that without dropout; the kept entries must be divided by 1−p (erratum D4).
func TestDiabDropout(t *testing.T) {
	const p = 0.1
	x := ones(10, 10)
	mask := ones(10, 10).Sub(permutation(3, 0, 9, 1, 7, 2, 8, 4, 6, 5)) // one of ten in every row and column
	printed := dropoutForward(x, mask)
	inverted := dropoutForward(x, mask.Scale(1/(1-p)))
	near(t, "mean over the masks as printed", printed.SumTokens().Scale(0.1), ones(1, 10).Scale(0.9))
	near(t, "mean over the masks", inverted.SumTokens().Scale(0.1), ones(1, 10))
	wrongBy(t, "as printed", printed.Mean(), x.Mean(), 0.1)

	y, delta := fixture.Random("x", 10, 10), fixture.Random("delta", 10, 10)
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		return dropoutForward(z["x"], mask.Scale(1/(1-p)))
	}, parameters{"x": y}, delta)
	near(t, "Δ", dropoutBackward(mask.Scale(1/(1-p)), delta), truth["x"])
}
