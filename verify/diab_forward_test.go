package verify

import (
	"fmt"
	"math"
	"testing"
)

// (1) The input is a row of the token embeddings plus a row of the position
// embeddings, for each place of the text.
func TestDiabEq01(t *testing.T) {
	s := newStudy(t)
	want := Zeros[float64](s.Context, fixtureFeatures)
	for i, token := range s.Tokens {
		for j := range fixtureFeatures {
			want.Data[i*fixtureFeatures+j] = s.Parameters["wte.weight"].At(token, j) + s.Parameters["wpe.weight"].At(i, j)
		}
	}
	near(t, "X(0)", s.hand.A1, want)
	near(t, "X(0) of section 3", s.a["X(0)"], want)
}

// (2) The first LayerNorm stands inside each block, has gain and shift of its own
// there, takes the output of the block before, and its ε inside the root. The running
// text has one LayerNorm in front of all blocks instead (erratum D9, TestDiabFirstLayerNorm).
func TestDiabEq02(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		x, gain, shift := s.a[fmt.Sprintf("X(%d)", l-1)], s.Parameters[layer+"ln_1.weight"], s.Parameters[layer+"ln_1.bias"]
		want := Zeros[float64](x.Rows, x.Cols)
		for i := range x.Rows {
			mu, variance := moments(x.Tokens(i, i+1).Data)
			for j := range x.Cols {
				want.Data[i*x.Cols+j] = gain.At(0, j)*(x.At(i, j)-mu)/math.Sqrt(variance+s.Eps) + shift.At(0, j)
			}
		}
		near(t, in("Xln1"), LayerNormForward(x, gain, shift, s.Eps), want)
		near(t, in("Xln1 of the block"), hand.A2, want)
	})
}

// moments are the mean and the variance of a token's features, the latter of the
// population: divided by d.
func moments(x []float64) (mu, variance float64) {
	for _, v := range x {
		mu += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mu) * (v - mu) / float64(len(x))
	}
	return mu, variance
}

// Sections 2.1 and 2.2 normalise the embeddings once and send the result through the
// blocks; by (2) and (7) every block has a LayerNorm of its own, and what goes
// around it is X itself, not the normalised X (erratum D9).
func TestDiabFirstLayerNorm(t *testing.T) {
	s := newStudy(t)
	right, err := BlockForward(s.GPT, s.Parameters, 0, s.hand.A1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Xadd1", right.A5, s.a["1 Xadd1"])
	wrongBy(t, "Xadd1 with Xln1 going around", s.a["1 Xln1"].Add(s.a["1 Xattn"]), s.a["1 Xadd1"], 0.512)
	shared := LayerNormForward(s.a["X(1)"], s.Parameters["h.0.ln_1.weight"], s.Parameters["h.0.ln_1.bias"], s.Eps)
	wrongBy(t, "Xln1 of block 2 with the parameters of block 1", shared, s.a["2 Xln1"], 0.299)
}

// (3) Queries, keys and values are linear layers of the normalised input. One packed
// layer [Q | K | V] is the three of them.
func TestDiabEq03(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		w, b := s.Parameters[layer+"attn.c_attn.weight"], s.Parameters[layer+"attn.c_attn.bias"]
		for i, name := range []string{"Q", "K", "V"} {
			from, to := columnsOf(i)
			got := LinearForward(s.a[in("Xln1")], w.Columns(from, to), b.Columns(from, to))
			near(t, in(name), got, s.a[in("QKV")].Columns(from, to))
			near(t, in(name+" of the block"), hand.QKV.Columns(from, to), got)
		}
	})
}

// columnsOf says where queries (0), keys (1) and values (2) lie in the packed layer.
func columnsOf(i int) (from, to int) {
	ends := [4]int{0, fixtureHeads * fixtureQK, 2 * fixtureHeads * fixtureQK, fixtureHeads * (2*fixtureQK + fixtureValues)}
	return ends[i], ends[i+1]
}

// (4) A head averages its values with the weights softmax(Q Kᵗ/√d_head + M). d_head is
// the width of a query; a value may have another one.
func TestDiabEq04(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		for j := range s.Heads {
			q, k, v := s.head(in, j)
			want := Zeros[float64](s.Context, fixtureValues)
			for i := range s.Context { // M = 0 for the keys up to i, and e^−∞ = 0 for the others
				norm, weights := 0.0, make([]float64, i+1)
				for key := range weights {
					weights[key] = math.Exp(dot(q.Tokens(i, i+1), k.Tokens(key, key+1)) / math.Sqrt(fixtureQK))
					norm += weights[key]
				}
				for key, weight := range weights {
					for c := range v.Cols {
						want.Data[i*v.Cols+c] += weight / norm * v.At(key, c)
					}
				}
			}
			near(t, in("head"), AttentionForward(q, k, v, CausalMask(s.Context), Matrix[float64]{}), want)
			near(t, in("head of section 3"), s.a[in(fmt.Sprint("head", j))], want)
			wide := q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(fixtureFeatures)).Add(CausalMask(s.Context)).Softmax().MatMul(v)
			if !(frobenius(wide.Sub(want)) > 0.005*frobenius(want)) {
				t.Error(in("head: √d_model for √d_head makes no difference"))
			}
		}
	})
}

// head returns the queries, keys and values of head j = 0 … h−1.
func (s study) head(in func(string) string, j int) (q, k, v Matrix[float64]) {
	return split(MultiHead{Batch: 1, Heads: s.Heads, QK: s.QK}, s.a[in("QKV")], 0, j)
}

// (5) The outputs of the heads stand side by side.
func TestDiabEq05(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		for j := range s.Heads {
			near(t, in("columns of H"), hand.A3.Columns(j*fixtureValues, (j+1)*fixtureValues), s.a[in(fmt.Sprint("head", j))])
		}
		m := MultiHead{Batch: 1, Heads: s.Heads, QK: s.QK, Masks: []Matrix[float64]{CausalMask(s.Context)}}
		near(t, in("H"), MultiHeadForward(s.a[in("QKV")], m), s.a[in("H")])
	})
}

// (6) A linear layer from the heads back to the width of the model.
func TestDiabEq06(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		got := LinearForward(s.a[in("H")], s.Parameters[layer+"attn.c_proj.weight"], s.Parameters[layer+"attn.c_proj.bias"])
		near(t, in("Xattn"), got, s.a[in("Xattn")])
		near(t, in("Xattn of the block"), hand.A4, s.a[in("Xattn")])
	})
}

// (7) The attention's output is added to the input of the block.
func TestDiabEq07(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		near(t, in("Xadd1"), ResidualForward(s.a[fmt.Sprintf("X(%d)", l-1)], s.a[in("Xattn")]), s.a[in("Xadd1")])
		near(t, in("Xadd1 of the block"), hand.A5, s.a[in("Xadd1")])
	})
}

// (8) The second LayerNorm, of the sum.
func TestDiabEq08(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		got := LayerNormForward(s.a[in("Xadd1")], s.Parameters[layer+"ln_2.weight"], s.Parameters[layer+"ln_2.bias"], s.Eps)
		near(t, in("Xln2"), got, s.a[in("Xln2")])
		near(t, in("Xln2 of the block"), hand.A6, s.a[in("Xln2")])
	})
}

// (9) Two linear layers with a GELU between them; which GELU is left open (erratum
// D7). Here it is xΦ(x), the definition in 2.3.
func TestDiabEq09(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		p := mlpOf(s.Parameters, layer)
		want := s.a[in("ffnA")].each(func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 })
		near(t, in("GELU"), GELUForward(s.a[in("ffnA")]), want)
		near(t, in("Xffn"), MLPForward(s.a[in("Xln2")], p, GELU), want.MatMul(p.W2).Add(p.B2))
		near(t, in("Xffn of the block"), hand.A9, s.a[in("Xffn")])
	})
}

func mlpOf(p Parameters[float64], layer string) MLP[float64] {
	c, d := layer+"mlp.c_fc", layer+"mlp.c_proj"
	return MLP[float64]{p[c+".weight"], p[c+".bias"], p[d+".weight"], p[d+".bias"]}
}

// (10) The second residual, around the LayerNorm and the feed-forward network.
func TestDiabEq10(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, hand Block[float64]) {
		near(t, in("X"), ResidualForward(s.a[in("Xadd1")], s.a[in("Xffn")]), s.a[fmt.Sprintf("X(%d)", l)])
		near(t, in("X of the block"), hand.A10, s.a[fmt.Sprintf("X(%d)", l)])
	})
}

// (11) A last LayerNorm after the last block.
func TestDiabEq11(t *testing.T) {
	s := newStudy(t)
	got := LayerNormForward(s.a["X(2)"], s.Parameters["ln_f.weight"], s.Parameters["ln_f.bias"], s.Eps)
	near(t, "Xfinal_ln", got, s.a["Xfinal_ln"])
	near(t, "Xfinal_ln of the model", s.hand.A11, s.a["Xfinal_ln"])
}

// (12) A linear layer to one logit per word of the vocabulary.
func TestDiabEq12(t *testing.T) {
	s := newStudy(t)
	got := LinearForward(s.a["Xfinal_ln"], s.Parameters["lm_head.weight"], s.Parameters["lm_head.bias"])
	near(t, "L", got, s.a["L"])
	near(t, "L of the model", s.hand.Logits, s.a["L"])
}
