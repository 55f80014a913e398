package papers

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
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
	near(
		t, "∂C/∂z of one word", crossEntropyBackward(z, []int{2}, hand.Sum),
		by(z, permutation(natural(5)...).Tokens(2, 3)),
	)
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
	near(
		t, "A(X, Z, Z)", unprojectedForward(q, k, none),
		q.MatMul(k.Transpose()).Scale(1/math.Sqrt(3)).Softmax().MatMul(k),
	)
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
	near(t, "Σ a", a.Sum(), ones(4, 1))
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

// (9) The attention of many queries is many attentions: row i of the output is the output of query i alone.
func TestXuEq09(t *testing.T) {
	q, k, v := xuQueries()
	out := q.MatMul(k.Transpose()).Softmax().MatMul(v)
	none := matrix{}
	for i := range 4 {
		x := rowOf(q, i).MatMul(k.Transpose())
		near(t, "row of O", rowOf(out, i), weightedRows(sharesOf(x.Data), v))
		near(
			t, "row of the scaled O", attentionForward(rowOf(q, i), k, v, none, none),
			rowOf(attentionForward(q, k, v, none, none), i),
		)
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
	near(t, "concat", multiHeadForward(qkv, m), hand.Join(s.output(0), s.output(1)))
	swapped := hand.Join(s.output(1), s.output(0)).MatMul(
		hand.JoinTokens(s.wo.Tokens(xuHead, xuWidth), s.wo.Tokens(0, xuHead)),
	)
	near(t, "Y of swapped heads", swapped, sum)
	if slices.Equal(s.output(0).Data, s.output(1).Data) {
		t.Error("two heads with weights of their own: got the same output")
	}
}

// (33) The scores of T tokens among themselves are square. As everywhere in section 3 they are printed without the
// 1/√d_k of (4), which is unrelated to caching (erratum X11).
func TestXuEq33(t *testing.T) {
	s := newSelfAttention()
	q, k := s.of(s.q, 0), s.of(s.k, 0)
	want := entriesOf(xuTokens, xuTokens, func(i, j int) float64 { return dot(rowOf(q, i), rowOf(k, j)) })
	near(t, "QKᵗ", s.scores(0), want)
	wrongBy(t, "weights without the scale", s.scores(0).Add(s.mask).Softmax(), s.weights(0), 0.188)
}

// (34) One more token adds a row and a column to the scores: [QKᵗ, Qkᵗ; qKᵗ, qkᵗ].
func TestXuEq34(t *testing.T) {
	s := newSelfAttention()
	q, k := s.of(s.q, 0), s.of(s.k, 0)
	last, Q, K := xuTokens-1, q.Tokens(0, xuTokens-1), k.Tokens(0, xuTokens-1)
	above := hand.Join(Q.MatMul(K.Transpose()), Q.MatMul(rowOf(k, last).Transpose()))
	below := hand.Join(rowOf(q, last).MatMul(K.Transpose()), rowOf(q, last).MatMul(rowOf(k, last).Transpose()))
	near(t, "scores", hand.JoinTokens(above, below), s.scores(0))
}

// (35) Under the causal mask it adds only a row: the rows above are unchanged to the bit, so the keys must be cached
// but not the queries.
func TestXuEq35(t *testing.T) {
	s := newSelfAttention()
	for n := 1; n < xuTokens; n++ {
		q, k := s.of(s.q, 0), s.of(s.k, 0)
		before := attentionWeights(q.Tokens(0, n), k.Tokens(0, n), hand.CausalMask(n))
		after := attentionWeights(q.Tokens(0, n+1), k.Tokens(0, n+1), hand.CausalMask(n+1))
		if got := after.Tokens(0, n).Columns(0, n); !slices.Equal(got.Data, before.Data) {
			t.Errorf("token %d: the rows above got %v, want %v", n, got.Data, before.Data)
		}
		near(t, "new row", rowOf(after, n), attentionWeights(rowOf(q, n), k.Tokens(0, n+1), matrix{}))
	}
}

// (36) Row t of the output is the sum of the values of tokens 1 to t, weighted by the softmax of t scores: all values
// must be cached.
func TestXuEq36(t *testing.T) {
	s := newSelfAttention()
	x, v := s.scores(0), s.of(s.v, 0)
	var printed []matrix
	var c hand.Cache[float64]
	for i := range xuTokens {
		printed = append(printed, weightedRows(sharesOf(rowOf(x, i).Data[:i+1]), v))
		scaled := rowOf(x, i).Columns(0, i+1).Scale(0.5)
		want := weightedRows(sharesOf(scaled.Data), v)
		near(t, "row with the scale", rowOf(s.output(0), i), want)
		var a matrix
		a, c = cachedForward(c, rowOf(s.of(s.q, 0), i), rowOf(s.of(s.k, 0), i), rowOf(v, i))
		near(t, "row by hand", a, want)
	}
	near(t, "rows as printed", hand.JoinTokens(printed...), x.Add(s.mask).Softmax().MatMul(v))
	wrongBy(t, "rows as printed", hand.JoinTokens(printed...), s.output(0), 0.185)
}

// I40: token by token, with the keys and values so far, attention gives the rows of the full attention, for every head.
func TestI40CacheEqualsForward(t *testing.T) {
	s := newSelfAttention()
	for i := range xuHeads {
		var c hand.Cache[float64]
		for n := range xuTokens {
			var a matrix
			a, c = cachedForward(c, rowOf(s.of(s.q, i), n), rowOf(s.of(s.k, i), n), rowOf(s.of(s.v, i), n))
			near(t, fmt.Sprintf("head %d, token %d", i, n), a, rowOf(s.output(i), n))
		}
		near(t, "kept keys", c.K, s.of(s.k, i))
		near(t, "kept values", c.V, s.of(s.v, i))
	}
	_, c := cachedForward(hand.Cache[float64]{}, ones(1, 3), ones(1, 3), ones(1, 2))
	if a, _ := cachedForward(c, ones(1, 3), ones(1, 4), ones(1, 2)); a.Err == nil {
		t.Error("a key of another width: got no error")
	}
}

// Section 3 does not mention what generate does when the window is full: it drops the first token and counts the others
// from 0 again. With learned positions the cached keys and values then belong to other positions (erratum X9). With
// rotary ones no position is stale, because only differences of positions matter.
func TestXuStaleCache(t *testing.T) {
	s, e := newSelfAttention(), fixture.Random("tokens", 7, xuWidth).Scale(4)
	p := fixture.Random("positions", 6, xuWidth).Scale(4)
	at := func(token, position int) matrix { return rowOf(e, token).Add(rowOf(p, position)) }
	window := func(shift int) (c hand.Cache[float64]) { // tokens 1 to 5 at their positions less shift
		for token := 1; token <= 5; token++ {
			x := at(token, token-shift)
			_, c = cachedForward(c, x.MatMul(s.wq), x.MatMul(s.wk), x.MatMul(s.wv))
		}
		return c
	}
	next := at(6, 5)
	newest := func(c hand.Cache[float64]) matrix {
		a, _ := cachedForward(c, next.MatMul(s.wq), next.MatMul(s.wk), next.MatMul(s.wv))
		return a
	}
	wrongBy(t, "output with the keys and values of the old positions", newest(window(0)), newest(window(1)), 0.901)

	positions := []int{1, 2, 3, 4, 5, 6}
	moved := []int{0, 1, 2, 3, 4, 5}
	q, k := s.q, s.k
	scoresAt := func(at []int) matrix {
		return rotated(q, at, xuTheta).MatMul(rotated(k, at, xuTheta).Transpose())
	}
	near(t, "scores of rotary positions", scoresAt(positions), scoresAt(moved))
}

// With rotary positions a cached key, before rotation, belongs to its token in the first block. In the second block it
// is computed from the first block's output, which depends on all earlier tokens, including one that has since been
// dropped (erratum X9).
func TestXuRotaryCache(t *testing.T) {
	m := newModel(t, small(func(c *gpt.Config) { c.Position, c.QKSize, c.NLayer = "rope", 4, 2 }))
	h := planOf(m)
	h.Batch = 1
	keys := func(from int) (list []matrix) { // of the last tokens, block by block
		h.Context = fixture.Tokens - from
		a, err := gptForward(h, m.Parameters, m.Tokens[from:fixture.Tokens], m.Targets[from:fixture.Tokens])
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range a.Blocks {
			list = append(list, b.QKV.Tokens(1-from, h.Context).Columns(h.Heads*h.QK, 2*h.Heads*h.QK))
		}
		return list
	}
	all, later := keys(0), keys(1)
	near(t, "keys of the first block", all[0], later[0])
	wrongBy(t, "keys of the second block", all[1], later[1], 0.178)
}
