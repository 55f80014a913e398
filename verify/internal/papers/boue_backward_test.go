package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (21) The gradient of the values' bias: Σ_tokens of ρᵗΔ is Σ_tokens of Δ, because the rows of ρ sum to 1.
func TestBoueEq21(t *testing.T) {
	a := newAttention()
	near(t, "Σ ρᵗΔ", a.rho.Transpose().MatMul(a.delta).SumTokens(), a.delta.SumTokens())
	near(t, "∂b_v", a.delta.SumTokens(), a.truth(t)["bv"])
}

// (22) Δ through the values: ρᵗΔ w_vᵗ.
func TestBoueEq22(t *testing.T) {
	a := newAttention()
	want := a.by(t, a.x, func(x complexMatrix) complexMatrix {
		return lift(a.rho).MatMul(linearForward(x, lift(a.p.Wv), lift(a.p.Bv)))
	})
	near(t, "Δ_v", a.rho.Transpose().MatMul(a.delta).MatMul(a.p.Wv.Transpose()), want)
}

// (23) ∂w_v = (ρa)ᵗΔ.
func TestBoueEq23(t *testing.T) {
	a := newAttention()
	_, g := headBackward(a.x, a.p, a.mask, matrix{}, a.delta)
	near(t, "∂w_v", a.rho.MatMul(a.x).Transpose().MatMul(a.delta), a.truth(t)["wv"])
	near(t, "∂w_v of HeadBackward", g.Wv, a.truth(t)["wv"])
}

// (24) ∂b_v = Σ_tokens Δ whatever the attention weights are: other parameters of queries and keys do not change it, but
// change everything else.
func TestBoueEq24(t *testing.T) {
	a := newAttention()
	other := a.p
	other.Wq, other.Wk = a.p.Wq.Scale(-3), a.p.Wk.Scale(2)
	_, g := headBackward(a.x, a.p, a.mask, matrix{}, a.delta)
	_, h := headBackward(a.x, other, a.mask, matrix{}, a.delta)
	near(t, "∂b_v", g.Bv, a.delta.SumTokens())
	near(t, "∂b_v for other weights", h.Bv, g.Bv)
	wrongBy(t, "∂w_v for other weights", h.Wv, g.Wv, 0.677)
}

// (25) Δ back through the softmax: Δ_causal = (Δvᵗ − row sums of Δvᵗ∘ρ) ∘ ρ. With the keys 1 and the queries √n times
// the scores, the scores are the same and Attention.Backward returns Δ_causal/√n at the queries.
func TestBoueEq25(t *testing.T) {
	a := newAttention()
	want := a.by(t, a.scaled, func(scores complexMatrix) complexMatrix {
		return scores.Add(lift(a.mask)).Softmax().MatMul(lift(a.v))
	})
	near(t, "Δ_causal", a.dcausal, want)
	root := math.Sqrt(6)
	dq, _, _ := attentionBackward(a.scaled.Scale(root), permutation(natural(6)...), a.v, a.mask, matrix{}, a.delta)
	near(t, "Δ_causal of AttentionBackward", dq.Scale(root), a.dcausal)
}

// (26) The rows of Δ_causal sum to zero, because the rows of ρ must keep summing to 1.
func TestBoueEq26(t *testing.T) {
	a := newAttention()
	vanishes(t, "Σ_t' Δ_causal", a.dcausal.Sum())
}

// (27) The mask lets Δ through unchanged, Δ_scaled = Δ_causal: true for the additive mask, under which Δ_causal is zero
// wherever ρ is. With the mask multiplied as printed, ρ is never zero and a factor m is missing (erratum B2).
func TestBoueEq27(t *testing.T) {
	a := newAttention()
	near(t, "m ∘ Δ_causal", a.dcausal.Mul(a.binary), a.dcausal)

	truth := complexStep(t, a.literal, a.parameters(), a.delta)
	rho := a.scaled.Mul(a.binary).Softmax()
	dcausal := a.drho.Sub(a.drho.Mul(rho).Sum()).Mul(rho)
	dwq := func(dscaled matrix) matrix {
		return a.x.Transpose().MatMul(dscaled.Scale(1 / math.Sqrt(3)).MatMul(a.k))
	}
	wrongBy(t, "∂w_q as printed for the printed mask", dwq(dcausal), truth["wq"], 1.69)
	near(t, "∂w_q with m ∘ Δ_causal for the printed mask", dwq(dcausal.Mul(a.binary)), truth["wq"])
}

// (28) The scale acts on Δ as on the scores: Δ_raw = Δ_scaled/√dρ. Attention.Backward multiplies it by the keys and, in
// its transpose, by the queries.
func TestBoueEq28(t *testing.T) {
	a := newAttention()
	want := a.by(t, a.raw, func(raw complexMatrix) complexMatrix {
		return raw.Scale(1 / math.Sqrt(3)).Add(lift(a.mask)).Softmax().MatMul(lift(a.v))
	})
	near(t, "Δ_raw", a.draw, want)
	dq, dk, _ := attentionBackward(a.q, a.k, a.v, a.mask, matrix{}, a.delta)
	near(t, "Δ_raw k of AttentionBackward", dq, a.draw.MatMul(a.k))
	near(t, "Δ_rawᵗ q of AttentionBackward", dk, a.draw.Transpose().MatMul(a.q))
}

// (29) The gradient of the keys' bias is zero for every value of the parameters; the gradient of the queries' bias is
// not. With the mask multiplied as printed, the keys' bias matters (erratum B2).
func TestBoueEq29(t *testing.T) {
	a := newAttention()
	_, g := headBackward(a.x, a.p, a.mask, matrix{}, a.delta)
	vanishes(t, "∂b_k", g.Bk)
	vanishes(t, "∂b_k by complex step", a.truth(t)["bk"])
	if !(frobenius(g.Bq) > 0.1) {
		t.Errorf("‖∂b_q‖: got %v, want a number of size one", frobenius(g.Bq))
	}
	printed := complexStep(t, a.literal, a.parameters(), a.delta)
	if got := frobenius(printed["bk"]); !(math.Abs(got-0.445) <= 0.001) {
		t.Errorf("‖∂b_k‖ for the printed mask: got %.3f, want 0.445", got)
	}
}

// through differentiates the head by its input along one of its three branches, the other two held still.
func (a attention) through(t *testing.T, q, k bool) matrix {
	t.Helper()
	return a.by(t, a.x, func(x complexMatrix) complexMatrix {
		queries, keys := lift(a.q), lift(a.k)
		if q {
			queries = linearForward(x, lift(a.p.Wq), lift(a.p.Bq))
		}
		if k {
			keys = linearForward(x, lift(a.p.Wk), lift(a.p.Bk))
		}
		return attentionForward(queries, keys, lift(a.v), a.mask, matrix{})
	})
}

// (30.a–b) Δ through the queries, Δ_raw k w_qᵗ, and through the keys, Δ_rawᵗ q w_kᵗ.
func TestBoueEq30(t *testing.T) {
	a := newAttention()
	near(t, "Δ_q", a.draw.MatMul(a.k).MatMul(a.p.Wq.Transpose()), a.through(t, true, false))
	near(t, "Δ_k", a.draw.Transpose().MatMul(a.q).MatMul(a.p.Wk.Transpose()), a.through(t, false, true))
}

// (31.a–b) ∂w_q = aᵗΔ_raw k and ∂w_k = (Δ_raw a)ᵗq.
func TestBoueEq31(t *testing.T) {
	a := newAttention()
	truth := a.truth(t)
	near(t, "∂w_q", a.x.Transpose().MatMul(a.draw).MatMul(a.k), truth["wq"])
	near(t, "∂w_k", a.draw.MatMul(a.x).Transpose().MatMul(a.q), truth["wk"])
}

// (32.a–b) ∂b_q = Σ_tokens Δ_raw k and ∂b_k = 0, which equals Σ_tokens Δ_rawᵗq.
func TestBoueEq32(t *testing.T) {
	a := newAttention()
	near(t, "∂b_q", a.draw.MatMul(a.k).SumTokens(), a.truth(t)["bq"])
	vanishes(t, "Σ Δ_rawᵗ q", a.draw.Transpose().MatMul(a.q).SumTokens())
}

// (33) The three branches add up at the input.
func TestBoueEq33(t *testing.T) {
	a := newAttention()
	dv := a.rho.Transpose().MatMul(a.delta).MatMul(a.p.Wv.Transpose())
	dx, _ := headBackward(a.x, a.p, a.mask, matrix{}, a.delta)
	near(t, "Δ_v + Δ_q + Δ_k", dv.Add(a.through(t, true, false)).Add(a.through(t, false, true)), a.truth(t)["x"])
	near(t, "Δ of HeadBackward", dx, a.truth(t)["x"])
}

// headsOf cuts the packed weight and bias of H heads into separate heads.
func headsOf(w, b matrix, heads, qk, values int) []headParameters[float64] {
	out := make([]headParameters[float64], heads)
	for h := range out {
		q, k, v := h*qk, (heads+h)*qk, 2*heads*qk+h*values
		out[h] = headParameters[float64]{
			w.Columns(q, q+qk), b.Columns(q, q+qk), w.Columns(k, k+qk), b.Columns(k, k+qk),
			w.Columns(v, v+values), b.Columns(v, v+values),
		}
	}
	return out
}

// (34) Heads side by side: the packed layer is the concatenation of heads with their own parameters.
func TestBoueEq34(t *testing.T) {
	x, w, b := fixture.Random("x", 6, 8), fixture.Random("w", 8, 22), fixture.Random("b", 1, 22)
	m := multiHead{Batch: 1, Heads: 2, QK: 3, Masks: []matrix{hand.CausalMask(6)}}
	var apart []matrix
	for _, head := range headsOf(w, b, 2, 3, 5) {
		apart = append(apart, headForward(x, head, hand.CausalMask(6), matrix{}))
	}
	got := multiHeadForward(linearForward(x, w, b), m)
	want := hand.Join(apart...)
	if near(t, "heads", got, want); !slices.Equal(got.Data, want.Data) {
		t.Errorf("got %v, want %v", got.Data, want.Data)
	}
}

// (35) Each head gets its columns of Δ, and the Δ of the heads are added at the input.
func TestBoueEq35(t *testing.T) {
	x, w := fixture.Random("x", 6, 8), fixture.Random("w", 8, 22)
	b, delta := fixture.Random("b", 1, 22), fixture.Random("delta", 6, 10)
	m := multiHead{Batch: 1, Heads: 2, QK: 3, Masks: []matrix{hand.CausalMask(6)}}
	sum := hand.Zeros[float64](6, 8)
	for h, head := range headsOf(w, b, 2, 3, 5) {
		dx, _ := headBackward(x, head, hand.CausalMask(6), matrix{}, delta.Columns(h*5, (h+1)*5))
		sum = sum.Add(dx)
	}
	got, _, _ := linearBackward(x, w, multiHeadBackward(linearForward(x, w, b), m, delta))
	near(t, "Σ_h Δ^h", got, sum)
}

// Section 3.2: without a mask a head maps shuffled tokens to equally shuffled outputs; with the causal mask it does
// not.
func TestBouePermutationEquivariance(t *testing.T) {
	a := newAttention()
	p := permutation(3, 1, 5, 0, 2, 4)
	none := matrix{}
	near(t, "no mask", headForward(p.MatMul(a.x), a.p, none, none), p.MatMul(headForward(a.x, a.p, none, none)))
	wrongBy(
		t, "causal mask", headForward(p.MatMul(a.x), a.p, a.mask, none), p.MatMul(headForward(a.x, a.p, a.mask, none)),
		0.954,
	)
}

// Section 3.2: the output for a new token needs its own query and all keys and values; the earlier ones can be cached.
// The printed weights lack 1/√dρ and the output is one row, not n+1 (erratum B7).
func TestBoueKVCache(t *testing.T) {
	a := newAttention()
	full := headForward(a.x, a.p, a.mask, matrix{})
	last := a.x.Tokens(5, 6)
	q := linearForward(last, a.p.Wq, a.p.Bq)
	k := hand.JoinTokens(a.k.Tokens(0, 5), linearForward(last, a.p.Wk, a.p.Bk))
	v := hand.JoinTokens(a.v.Tokens(0, 5), linearForward(last, a.p.Wv, a.p.Bv))
	near(t, "cached", attentionForward(q, k, v, matrix{}, matrix{}), full.Tokens(5, 6))
	wrongBy(t, "weights as printed", q.MatMul(k.Transpose()).Softmax(), a.rho.Tokens(5, 6), 0.167)
}
