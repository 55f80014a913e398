package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// xuQueries returns n = 4 queries, with m = 5 keys and values: d_k = 3, d_v = 2.
func xuQueries() (q, k, v matrix) {
	return fixture.Random("q", 4, 3).Scale(4), fixture.Random("k", 5, 3).Scale(4), fixture.Random("v", 5, 2)
}

// (2) One query's attention, softmax(qKᵗ)V, is the sum of the values by their shares e^(qk_i)/Σ e^(qk_j).
func TestXuEq02(t *testing.T) {
	q, k, v := xuQueries()
	one := rowOf(q, 0)
	x := one.MatMul(k.Transpose())
	for j := range x.Data {
		if got, want := x.Data[j], dot(one, rowOf(k, j)); !(math.Abs(got-want) <= 1e-14) {
			t.Errorf("entry %d of qKᵗ: got %v, want %v", j, got, want)
		}
	}
	near(t, "A(q, K, V)", x.Softmax().MatMul(v), weightedRows(sharesOf(x.Data), v))
}

// (3) The derivative of the cross entropy −Σ y_k log p_k by the logits is p − y if y sums to 1. The paper concludes
// that a peaked p makes it zero, which is wrong if p peaks at the wrong word: there the softmax's own derivative
// vanishes (erratum X15).
func TestXuEq03(t *testing.T) {
	z, y := fixture.Random("z", 1, 5).Scale(4), hand.NewMatrix(1, 5, 0.1, 0.2, 0.4, 0.3, 0)
	entropy := func(y matrix) func(complexParameters) complexMatrix {
		return func(p complexParameters) complexMatrix { return p["z"].Softmax().Log().Mul(lift(y)).Scale(-1) }
	}
	by := func(z, y matrix) matrix {
		return complexStep(t, entropy(y), parameters{"z": z}, ones(1, 5))["z"]
	}
	near(t, "∂C/∂z", z.Softmax().Sub(y), by(z, y))
	near(t, "∂C/∂z of one word", crossEntropyBackward(z, []int{2}, hand.Sum), by(z, permutation(natural(5)...).Tokens(2, 3)))
	wrongBy(t, "p − y for a y of sum 2", z.Softmax().Sub(y.Scale(2)), by(z, y.Scale(2)), 0.577)

	peaky := hand.NewMatrix(1, 5, 60, 0, 0, 0, 0.0)
	wrong := permutation(natural(5)...).Tokens(1, 2)
	if got := frobenius(by(peaky, wrong)); !(math.Abs(got-math.Sqrt2) <= 1e-12) {
		t.Errorf("‖∂C/∂z‖ for a peak at the wrong word: got %v, want √2 = 1.41", got)
	}
	p := peaky.Softmax()
	if got := frobenius(lifted(p).Sub(p.Transpose().MatMul(p))); !(got <= 1e-25) {
		t.Errorf("the softmax's derivative: got ‖diag(p) − pᵗp‖ = %v, want less than 1e-25", got)
	}
}

// (4) Scaled dot-product attention is softmax(QKᵗ/√d_k)V.
func TestXuEq04(t *testing.T) {
	q, k, v := xuQueries()
	none := matrix{}
	right := q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(3)).Softmax().MatMul(v)
	near(t, "A(Q, K, V)", attentionForward(q, k, v, none, none), right)
	near(t, "A(X, Z, Z)", unprojectedForward(q, k, none), q.MatMul(k.Transpose()).Scale(1/math.Sqrt(3)).Softmax().MatMul(k))
	wrongBy(t, "without the scale", q.MatMul(k.Transpose()).Softmax().MatMul(v), right, 0.416)
}

// The figure of section 1.2 has the mask in training only. Without it every token of a prompt sees all of it. The last
// token sees everything anyway, so a model of one block is unaffected; the blocks above the first are not (erratum X0).
func TestXuMaskAtInference(t *testing.T) {
	for _, c := range []struct {
		blocks int
		amount float64
	}{{1, 0}, {2, 0.0571}} {
		f := fixture.Generic()
		f.Layers = c.blocks
		logits := func() matrix {
			a, err := gptForward(f.Plan, f.Parameters, f.Tokens, f.Targets)
			if err != nil {
				t.Fatal(err)
			}
			return rowOf(a.Logits, f.Context-1)
		}
		right := logits()
		f.Mask = func(block, sequence, head int) matrix { return matrix{} }
		if c.amount == 0 {
			near(t, "last logits without the mask, one block", logits(), right)
		} else {
			wrongBy(t, "last logits without the mask, two blocks", logits(), right, c.amount)
		}
	}
}

// (5) In a recurrent sequence-to-sequence model the query is the decoder's state h_i, keys and values are the encoder's
// states: the context c_i is an average of the latter.
func TestXuEq05(t *testing.T) {
	h, z := fixture.Random("h", 4, 3), fixture.Random("z", 5, 3)
	a := h.MatMul(z.Transpose()).Softmax()
	near(t, "Σ a", a.SumFeatures(), ones(4, 1))
	near(t, "c by hand, without its scale", unprojectedForward(h.Scale(math.Sqrt(3)), z, matrix{}), a.MatMul(z))
	for i := range 4 {
		x := rowOf(h, i).MatMul(z.Transpose())
		near(t, "c_i", rowOf(a.MatMul(z), i), weightedRows(sharesOf(x.Data), z))
	}
}

// (6) The weights a_ij are e^(h_i z_jᵗ) over the sum of these for all t.
func TestXuEq06(t *testing.T) {
	h, z := fixture.Random("h", 4, 3).Scale(4), fixture.Random("z", 5, 3).Scale(4)
	want := entriesOf(4, 5, func(i, j int) float64 {
		sum := 0.0
		for s := range 5 {
			sum += math.Exp(dot(rowOf(h, i), rowOf(z, s)))
		}
		return math.Exp(dot(rowOf(h, i), rowOf(z, j))) / sum
	})
	near(t, "a", h.MatMul(z.Transpose()).Softmax(), want)
	near(t, "c by hand, without its scale", unprojectedForward(h.Scale(math.Sqrt(3)), z, matrix{}), want.MatMul(z))
}

// (8) The scores of n queries and m keys are their n·m products, square in self-attention only.
func TestXuEq08(t *testing.T) {
	q, k, _ := xuQueries()
	want := entriesOf(4, 5, func(i, j int) float64 { return dot(rowOf(q, i), rowOf(k, j)) })
	near(t, "QKᵗ", q.MatMul(k.Transpose()), want)
}

// (9) The attention of many queries is many attentions: row i of the output is that of query i alone.
func TestXuEq09(t *testing.T) {
	q, k, v := xuQueries()
	out := q.MatMul(k.Transpose()).Softmax().MatMul(v)
	none := matrix{}
	for i := range 4 {
		x := rowOf(q, i).MatMul(k.Transpose())
		near(t, "row of O", rowOf(out, i), weightedRows(sharesOf(x.Data), v))
		near(t, "row of the scaled O", attentionForward(rowOf(q, i), k, v, none, none), rowOf(attentionForward(q, k, v, none, none), i))
	}
}

// (10) A row of weights times V is the sum of the rows of V by these weights: over j, not over the printed i, which
// would sum a column of the weights (erratum X8).
func TestXuEq10(t *testing.T) {
	s := newSelfAttention()
	a, v := s.weights(0), s.of(s.v, 0)
	for i := range xuTokens {
		near(t, "a_i V", rowOf(a.MatMul(v), i), weightedRows(rowOf(a, i).Data, v))
	}
	wrongBy(t, "Σ_i a_ij v_i", a.Transpose().MatMul(v), a.MatMul(v), 0.306)
}

// (11) In self-attention queries, keys and values are products of the same X with their own weights, token by token.
func TestXuEq11(t *testing.T) {
	s, p := newSelfAttention(), permutation(3, 1, 5, 0, 2, 4)
	for name, w := range map[string]matrix{"Q": s.wq, "K": s.wk, "V": s.wv} {
		want := entriesOf(xuTokens, xuWidth, func(i, j int) float64 {
			return dot(rowOf(s.x, i), rowOf(w.Transpose(), j))
		})
		near(t, name, linearForward(s.x, w, matrix{}), want)
		near(t, name+" of shuffled tokens", linearForward(p.MatMul(s.x), w, matrix{}), p.MatMul(want))
	}
}

// (13) Every head is scaled attention with its own projections of X. The text above it has KW and VW, projections of
// projections, whose shapes do not match (erratum X8).
func TestXuEq13(t *testing.T) {
	s := newSelfAttention()
	for i := range xuHeads {
		head := headParameters[float64]{Wq: s.of(s.wq, i), Wk: s.of(s.wk, i), Wv: s.of(s.wv, i)}
		near(t, "O", headForward(s.x, head, s.mask, matrix{}), s.output(i))
		if s.of(s.k, i).MatMul(head.Wk).Err == nil {
			t.Error("K W_k: got a product, want no shape")
		}
	}
}

// (14) The heads side by side, mixed by W_O, which is the sum of the heads times their rows of it.
func TestXuEq14(t *testing.T) {
	s := newSelfAttention()
	qkv, m := s.packed()
	sum := hand.Zeros[float64](xuTokens, xuWidth)
	for i := range xuHeads {
		sum = sum.Add(s.output(i).MatMul(s.wo.Tokens(i*xuHead, (i+1)*xuHead)))
	}
	near(t, "Y", multiHeadForward(qkv, m).MatMul(s.wo), sum)
	near(t, "concat", multiHeadForward(qkv, m), hand.JoinColumns(s.output(0), s.output(1)))
	swapped := hand.JoinColumns(s.output(1), s.output(0)).MatMul(hand.JoinTokens(s.wo.Tokens(xuHead, xuWidth), s.wo.Tokens(0, xuHead)))
	near(t, "Y of swapped heads", swapped, sum)
	if slices.Equal(s.output(0).Data, s.output(1).Data) {
		t.Error("two heads with weights of their own: got the same output")
	}
}
