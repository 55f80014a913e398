package papers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

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
	above := hand.JoinColumns(Q.MatMul(K.Transpose()), Q.MatMul(rowOf(k, last).Transpose()))
	below := hand.JoinColumns(rowOf(q, last).MatMul(K.Transpose()), rowOf(q, last).MatMul(rowOf(k, last).Transpose()))
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
// from 0 again. With learned positions the cached keys and values are then those of other positions (erratum X9). With
// rotary ones no position is stale, because only differences of positions matter.
func TestXuStaleCache(t *testing.T) {
	s, e, p := newSelfAttention(), fixture.Random("tokens", 7, xuWidth).Scale(4), fixture.Random("positions", 6, xuWidth).Scale(4)
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

// With rotary positions a cached key, before rotation, is that of its token in the first block. In the second block it
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
