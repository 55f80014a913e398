package papers

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (38) The embedding of a position gets ∇X⁽⁰⁾ of its row, and positions beyond the text get zero. The printed "=" holds
// for one sequence; over a batch the rows add up (erratum D11).
func TestDiabEq38(t *testing.T) {
	s := newStudy(t)
	delta, want := s.nabla(t, "X(0)"), s.nabla(t, "wpe.weight")
	near(t, "∇E_pos", hand.JoinTokens(delta, hand.Zeros[float64](fixture.Positions-s.Context, fixture.Features)), want)
	near(t, "∇E_pos by hand", embeddingBackward(s.Parameters["wpe.weight"], hand.Positions(1, s.Context), delta), want)
	if beyond := want.Tokens(s.Context, fixture.Positions); frobenius(beyond) != 0 {
		t.Errorf("∇E_pos beyond the text: got %v, want 0", beyond.Data)
	}
}

// (38) for a batch of two: assigned sequence by sequence, the second overwrites the first.
func TestDiabPositionsOverBatch(t *testing.T) {
	f := fixture.Generic()
	_, g := byHand(t, f)
	want, err := complexStepOf(f, "wpe.weight")
	if err != nil {
		t.Fatal(err)
	}
	delta := g.Deltas[len(g.Deltas)-1].Value // at the embeddings, (2n, d)
	printed := hand.Zeros[float64](fixture.Positions, fixture.Features)
	sum := hand.Zeros[float64](fixture.Positions, fixture.Features)
	for row := range delta.Rows {
		for j := range delta.Cols {
			at := row%f.Context*fixture.Features + j
			printed.Data[at] = delta.At(row, j)
			sum.Data[at] += delta.At(row, j)
		}
	}
	near(t, "∇E_pos, added up", sum, want)
	near(t, "∇E_pos by hand", g.Parameters["wpe.weight"], want)
	wrongBy(t, "∇E_pos, assigned", printed, want, 0.808)
}

// complexStepOf differentiates the loss of a fixture by one parameter.
func complexStepOf(f fixture.Fixture, name string) (matrix, error) {
	objective, out := f.Loss, hand.Zeros[float64](f.Parameters[name].Rows, f.Parameters[name].Cols)
	for i := range out.Data {
		var err error
		if out.Data[i], err = verify.ComplexStepAt(objective, f.Parameters, name, i); err != nil {
			return out, err
		}
	}
	return out, nil
}

// (39) The gradient of a token's embedding is the sum of ∇X⁽⁰⁾ over all rows in which the token occurs. Here "+=" is
// printed; "=" would keep the last of them.
func TestDiabEq39(t *testing.T) {
	s := newStudy(t)
	delta, want := s.nabla(t, "X(0)"), s.nabla(t, "wte.weight")
	printed := hand.Zeros[float64](fixture.Vocabulary, fixture.Features)
	assigned := hand.Zeros[float64](fixture.Vocabulary, fixture.Features)
	for i, token := range s.Tokens {
		for j := range fixture.Features {
			printed.Data[token*fixture.Features+j] += delta.At(i, j)
			assigned.Data[token*fixture.Features+j] = delta.At(i, j)
		}
	}
	near(t, "∇E_token", printed, want)
	near(t, "∇E_token by hand", embeddingBackward(s.Parameters["wte.weight"], s.Tokens, delta), want)
	wrongBy(t, "∇E_token, assigned", assigned, want, 0.353)
	for token := range fixture.Vocabulary {
		if row := want.Tokens(token, token+1); slices.Contains(s.Tokens, token) == (frobenius(row) == 0) {
			t.Errorf("∇E_token of %d: got %v, want zeros only for a token that does not occur", token, row.Data)
		}
	}
}

// Section 2.4 shares E_token with the head, W_lm = E_tokenᵗ, and gives no gradient (erratum D12): it is (39) plus the
// transpose of (16).
func TestDiabTying(t *testing.T) {
	f := newStudy(t, fixture.WithTying).Fixture
	want, err := complexStepOf(f, "wte.weight")
	if err != nil {
		t.Fatal(err)
	}
	a, err := gptForward(f.Plan, f.Parameters, f.Tokens, f.Targets)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gptBackward(f.Plan, f.Parameters, f.Tokens, f.Targets)
	if err != nil {
		t.Fatal(err)
	}
	embedding := embeddingBackward(f.Parameters["wte.weight"], f.Tokens, g.Deltas[len(g.Deltas)-1].Value) // (39)
	head := a.A11.Transpose().MatMul(crossEntropyBackward(a.Logits, f.Targets, hand.Mean)).Transpose()    // (16)ᵗ
	near(t, "(39) + (16)ᵗ", embedding.Add(head), want)
	near(t, "by hand", g.Parameters["wte.weight"], want)
	wrongBy(t, "(39) alone", embedding, want, 1.03)
	wrongBy(t, "(16)ᵗ alone", head, want, 0.229)
}

// (1) The input is a row of the token embeddings plus a row of the position embeddings, for each place of the text.
func TestDiabEq01(t *testing.T) {
	s := newStudy(t)
	want := hand.Zeros[float64](s.Context, fixture.Features)
	for i, token := range s.Tokens {
		for j := range fixture.Features {
			want.Data[i*fixture.Features+j] = s.Parameters["wte.weight"].At(token, j) +
				s.Parameters["wpe.weight"].At(i, j)
		}
	}
	near(t, "X(0)", s.hand.A1, want)
	near(t, "X(0) of section 3", s.a["X(0)"], want)
}

// (2) The first LayerNorm is inside each block, with its own gain and shift; it normalises the output of the previous
// block, and its ε is inside the root. The running text has one LayerNorm before all blocks instead (erratum D9,
// TestDiabFirstLayerNorm).
func TestDiabEq02(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		x, gain := s.a[fmt.Sprintf("X(%d)", l-1)], s.Parameters[layer+"ln_1.weight"]
		shift := s.Parameters[layer+"ln_1.bias"]
		want := hand.Zeros[float64](x.Rows, x.Cols)
		for i := range x.Rows {
			mu, variance := moments(x.Tokens(i, i+1).Data)
			for j := range x.Cols {
				want.Data[i*x.Cols+j] = gain.At(0, j)*(x.At(i, j)-mu)/math.Sqrt(variance+s.Eps) + shift.At(0, j)
			}
		}
		near(t, in("Xln1"), layerNormForward(x, gain, shift, s.Eps), want)
		near(t, in("Xln1 of the block"), formula.A2, want)
	})
}

// moments returns the mean and the variance of a token's features, the latter of the population: divided by d.
func moments(x []float64) (mu, variance float64) {
	for _, v := range x {
		mu += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mu) * (v - mu) / float64(len(x))
	}
	return mu, variance
}

// Sections 2.1 and 2.2 normalise the embeddings once and send the result through the blocks; by (2) and (7) every block
// has its own LayerNorm, and the residual around it is X itself, not the normalised X (erratum D9).
func TestDiabFirstLayerNorm(t *testing.T) {
	s := newStudy(t)
	right, err := blockForward(s.Plan, s.Parameters, 0, s.hand.A1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Xadd1", right.A5, s.a["1 Xadd1"])
	wrongBy(t, "Xadd1 with Xln1 going around", s.a["1 Xln1"].Add(s.a["1 Xattn"]), s.a["1 Xadd1"], 0.512)
	shared := layerNormForward(s.a["X(1)"], s.Parameters["h.0.ln_1.weight"], s.Parameters["h.0.ln_1.bias"], s.Eps)
	wrongBy(t, "Xln1 of block 2 with the parameters of block 1", shared, s.a["2 Xln1"], 0.299)
}

// (3) Queries, keys and values are linear layers of the normalised input. One packed layer [Q | K | V] combines the
// three.
func TestDiabEq03(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		w, b := s.Parameters[layer+"attn.c_attn.weight"], s.Parameters[layer+"attn.c_attn.bias"]
		for i, name := range []string{"Q", "K", "V"} {
			from, to := columnsOf(i)
			got := linearForward(s.a[in("Xln1")], w.Columns(from, to), b.Columns(from, to))
			near(t, in(name), got, s.a[in("QKV")].Columns(from, to))
			near(t, in(name+" of the block"), formula.QKV.Columns(from, to), got)
		}
	})
}

// columnsOf returns the columns of queries (0), keys (1) and values (2) in the packed layer.
func columnsOf(i int) (from, to int) {
	ends := [4]int{
		0, fixture.Heads * fixture.QK, 2 * fixture.Heads * fixture.QK, fixture.Heads * (2*fixture.QK + fixture.Values),
	}
	return ends[i], ends[i+1]
}

// (4) A head averages its values with the weights softmax(Q Kᵗ/√d_head + M). d_head is the width of a query; a value
// may have another width.
func TestDiabEq04(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		for j := range s.Heads {
			q, k, v := s.head(in, j)
			want := hand.Zeros[float64](s.Context, fixture.Values)
			for i := range s.Context { // M = 0 for the keys up to i, and e^−∞ = 0 for the others
				norm, weights := 0.0, make([]float64, i+1)
				for key := range weights {
					weights[key] = math.Exp(dot(q.Tokens(i, i+1), k.Tokens(key, key+1)) / math.Sqrt(fixture.QK))
					norm += weights[key]
				}
				for key, weight := range weights {
					for c := range v.Cols {
						want.Data[i*v.Cols+c] += weight / norm * v.At(key, c)
					}
				}
			}
			near(t, in("head"), attentionForward(q, k, v, hand.CausalMask(s.Context), matrix{}), want)
			near(t, in("head of section 3"), s.a[in(fmt.Sprint("head", j))], want)
			wide := q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(fixture.Features)).Add(
				hand.CausalMask(s.Context),
			).Softmax().MatMul(v)
			if !(frobenius(wide.Sub(want)) > 0.005*frobenius(want)) {
				t.Error(in("head: √d_model for √d_head makes no difference"))
			}
		}
	})
}

// head returns the queries, keys and values of head j = 0 … h−1.
func (s study) head(in func(string) string, j int) (q, k, v matrix) {
	return split(multiHead{Batch: 1, Heads: s.Heads, QK: s.QK}, s.a[in("QKV")], 0, j)
}

// (5) The outputs of the heads stand side by side.
func TestDiabEq05(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		for j := range s.Heads {
			near(
				t, in("columns of H"), formula.A3.Columns(j*fixture.Values, (j+1)*fixture.Values),
				s.a[in(fmt.Sprint("head", j))],
			)
		}
		m := multiHead{Batch: 1, Heads: s.Heads, QK: s.QK, Masks: []matrix{hand.CausalMask(s.Context)}}
		near(t, in("H"), multiHeadForward(s.a[in("QKV")], m), s.a[in("H")])
	})
}

// (6) A linear layer from the heads back to the width of the model.
func TestDiabEq06(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		got := linearForward(
			s.a[in("H")], s.Parameters[layer+"attn.c_proj.weight"], s.Parameters[layer+"attn.c_proj.bias"],
		)
		near(t, in("Xattn"), got, s.a[in("Xattn")])
		near(t, in("Xattn of the block"), formula.A4, s.a[in("Xattn")])
	})
}

// (7) The attention's output is added to the input of the block.
func TestDiabEq07(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		near(t, in("Xadd1"), residualForward(s.a[fmt.Sprintf("X(%d)", l-1)], s.a[in("Xattn")]), s.a[in("Xadd1")])
		near(t, in("Xadd1 of the block"), formula.A5, s.a[in("Xadd1")])
	})
}

// (8) The second LayerNorm, of the sum.
func TestDiabEq08(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		got := layerNormForward(
			s.a[in("Xadd1")], s.Parameters[layer+"ln_2.weight"], s.Parameters[layer+"ln_2.bias"], s.Eps,
		)
		near(t, in("Xln2"), got, s.a[in("Xln2")])
		near(t, in("Xln2 of the block"), formula.A6, s.a[in("Xln2")])
	})
}

// (9) Two linear layers with a GELU between them; the paper does not state which GELU (erratum D7). Here it is xΦ(x),
// the definition in 2.3.
func TestDiabEq09(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		p := mlpOf(s.Parameters, layer)
		want := each(s.a[in("ffnA")], func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 })
		near(t, in("GELU"), geluForward(s.a[in("ffnA")]), want)
		near(t, in("Xffn"), mlpForward(s.a[in("Xln2")], p, "gelu"), want.MatMul(p.W2).Add(p.B2))
		near(t, in("Xffn of the block"), formula.A9, s.a[in("Xffn")])
	})
}

func mlpOf(p parameters, layer string) mlpParameters[float64] {
	c, d := layer+"mlp.c_fc", layer+"mlp.c_proj"
	return mlpParameters[float64]{p[c+".weight"], p[c+".bias"], p[d+".weight"], p[d+".bias"]}
}

// (10) The second residual, around the LayerNorm and the feed-forward network.
func TestDiabEq10(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		near(t, in("X"), residualForward(s.a[in("Xadd1")], s.a[in("Xffn")]), s.a[fmt.Sprintf("X(%d)", l)])
		near(t, in("X of the block"), formula.A10, s.a[fmt.Sprintf("X(%d)", l)])
	})
}

// (11) A last LayerNorm after the last block.
func TestDiabEq11(t *testing.T) {
	s := newStudy(t)
	got := layerNormForward(s.a["X(2)"], s.Parameters["ln_f.weight"], s.Parameters["ln_f.bias"], s.Eps)
	near(t, "Xfinal_ln", got, s.a["Xfinal_ln"])
	near(t, "Xfinal_ln of the model", s.hand.A11, s.a["Xfinal_ln"])
}

// (12) A linear layer to one logit per word of the vocabulary.
func TestDiabEq12(t *testing.T) {
	s := newStudy(t)
	got := linearForward(s.a["Xfinal_ln"], s.Parameters["lm_head.weight"], s.Parameters["lm_head.bias"])
	near(t, "L", got, s.a["L"])
	near(t, "L of the model", s.hand.Logits, s.a["L"])
}
