package verify

import (
	"fmt"
	"math"
	"slices"
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

// (13) The probabilities of a row are softmax(Lᵢ/T). A higher T flattens them, T → 0
// leaves the likeliest word. The loss has T = 1; its gradient (15) otherwise lacks a
// factor (erratum D5, TestDiabTemperature).
func TestDiabEq13(t *testing.T) {
	s := newStudy(t)
	const T = 0.7
	want := Zeros[float64](s.Context, fixtureVocabulary)
	for i := range want.Rows {
		sum := 0.0
		for v := range want.Cols {
			sum += math.Exp(s.a["L"].At(i, v) / T)
		}
		for v := range want.Cols {
			want.Data[i*want.Cols+v] = math.Exp(s.a["L"].At(i, v)/T) / sum
		}
	}
	near(t, "P", s.a["L"].Scale(1/T).Softmax(), want)

	last := -1.0
	for _, temperature := range []float64{1e-3, 0.3, 0.7, 1, 2, 50} {
		p := s.a["L"].Scale(1 / temperature).Softmax()
		entropy := -p.Mul(p.Shift(1e-300).Log()).SumTokens().SumFeatures().Data[0]
		if !(entropy > last) {
			t.Errorf("entropy at T = %v: got %v, want more than %v", temperature, entropy, last)
		}
		last = entropy
	}
	if most := float64(s.Context) * math.Log(fixtureVocabulary); !(last < most && last > 0.99*most) {
		t.Errorf("entropy at T = 50: got %v, want just below %v", last, most)
	}
	likeliest := s.a["L"].Sub(s.a["L"].RowMax()).Shift(1e-300).Step()
	near(t, "P at T → 0", s.a["L"].Scale(1e5).Softmax(), likeliest)
}

// (14) The next word is drawn from the smallest set of words whose probabilities reach
// p together, renormalised. That set is the beginning of the words in the order of
// their probabilities, and holds one word at least. Pₙ is the row of the last word:
// behind it a padded input has rows that predict nothing.
func TestDiabEq14(t *testing.T) {
	for p, size := range map[float64]int{0.9: 3, 0.5: 1, 1: 4, 0: 1} {
		kept := topP([]float64{0.3, 0.05, 0.5, 0.15}, p)
		count, sum := 0, 0.0
		for _, v := range kept {
			sum += v
			if v > 0 {
				count++
			}
		}
		if count != size || !(math.Abs(sum-1) <= 1e-15) {
			t.Errorf("p = %v: got %v, want %d words that sum to 1", p, kept, size)
		}
	}
	near(t, "p = 0.75", NewMatrix(1, 4, topP([]float64{0.3, 0.05, 0.5, 0.15}, 0.75)...), NewMatrix(1, 4, 0.375, 0, 0.625, 0))

	s := newStudy(t)
	for i := range s.Context {
		row := s.a["P"].Tokens(i, i+1).Data
		for _, p := range []float64{0.05, 0.3, 0.6, 0.95} {
			size := len(row) - len(slices.DeleteFunc(topP(row, p), func(v float64) bool { return v > 0 }))
			if want := smallestSet(row, p); size != want {
				t.Errorf("row %d, p = %v: got %d words, want %d", i, p, size, want)
			}
		}
	}

	padded := s
	padded.Tokens = append(slices.Clone(s.Tokens[:4]), 0, 0)
	logits := section3(padded.Fixture, s.Parameters)["L"]
	if !slices.Equal(logits.Tokens(3, 4).Data, s.a["L"].Tokens(3, 4).Data) {
		t.Error("the row of the last word depends on the padding behind it")
	}
	wrongBy(t, "row n of a padded input", logits.Tokens(5, 6), logits.Tokens(3, 4), 0.715)
}

// topP renormalises the likeliest words that reach p together; the others get 0.
func topP(probabilities []float64, p float64) []float64 {
	order := natural(len(probabilities))
	slices.SortFunc(order, func(a, b int) int {
		if probabilities[a] > probabilities[b] {
			return -1
		}
		return 1
	})
	out, sum := make([]float64, len(order)), 0.0
	for _, word := range order {
		out[word] = probabilities[word]
		if sum += probabilities[word]; sum >= p {
			break
		}
	}
	for word := range out {
		out[word] /= sum
	}
	return out
}

// smallestSet tries all sets of words for the size of the smallest that reaches p.
func smallestSet(probabilities []float64, p float64) int {
	smallest := len(probabilities)
	for set := 1; set < 1<<len(probabilities); set++ {
		size, sum := 0, 0.0
		for word, v := range probabilities {
			if set>>word&1 == 1 {
				size, sum = size+1, sum+v
			}
		}
		if sum >= p && size < smallest {
			smallest = size
		}
	}
	return smallest
}
