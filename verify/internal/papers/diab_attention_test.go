package papers

import (
	"fmt"
	"math"
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
		near(t, own("∇S"), incoming.Mul(a).Sub(a.Mul(incoming.Mul(a).SumFeatures())), want)
		for i := range a.Rows {
			row := a.Tokens(i, i+1)
			jacobian := lifted(row).Sub(row.Transpose().MatMul(row))
			near(t, own("J∇a"), incoming.Tokens(i, i+1).MatMul(jacobian), want.Tokens(i, i+1))
		}
		vanishes(t, own("rows of ∇S"), want.SumFeatures())
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
		around, through, want := s.nabla(t, in("in.res")), s.nabla(t, in("in.ln")), s.nabla(t, fmt.Sprintf("X(%d)", l-1))
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
