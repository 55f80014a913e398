package verify

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// (33) The scores of T tokens among themselves are square. As everywhere in section 3 they are printed without the 1/√d_k of
// (4), which is no matter of caching (erratum X11).
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
	above := JoinColumns(Q.MatMul(K.Transpose()), Q.MatMul(rowOf(k, last).Transpose()))
	below := JoinColumns(rowOf(q, last).MatMul(K.Transpose()), rowOf(q, last).MatMul(rowOf(k, last).Transpose()))
	near(t, "scores", JoinTokens(above, below), s.scores(0))
}

// (35) Under the causal mask it adds a row only: the rows above stay as they are, to the bit, so that the keys have to be
// kept and the queries have not.
func TestXuEq35(t *testing.T) {
	s := newSelfAttention()
	for n := 1; n < xuTokens; n++ {
		q, k := s.of(s.q, 0), s.of(s.k, 0)
		before := AttentionWeights(q.Tokens(0, n), k.Tokens(0, n), CausalMask(n))
		after := AttentionWeights(q.Tokens(0, n+1), k.Tokens(0, n+1), CausalMask(n+1))
		if got := after.Tokens(0, n).Columns(0, n); !slices.Equal(got.Data, before.Data) {
			t.Errorf("token %d: the rows above got %v, want %v", n, got.Data, before.Data)
		}
		near(t, "new row", rowOf(after, n), AttentionWeights(rowOf(q, n), k.Tokens(0, n+1), Matrix[float64]{}))
	}
}

// (36) Row t of the output is made of the values of tokens 1 to t with the softmax of t scores: all values have to be kept.
func TestXuEq36(t *testing.T) {
	s := newSelfAttention()
	x, v := s.scores(0), s.of(s.v, 0)
	printed := Zeros[float64](0, xuHead)
	printed.Cols = xuHead
	for i := range xuTokens {
		printed = JoinTokens(printed, weightedRows(sharesOf(rowOf(x, i).Data[:i+1]), v))
		scaled := rowOf(x, i).Columns(0, i+1).Scale(0.5)
		near(t, "row with the scale", weightedRows(sharesOf(scaled.Data), v), rowOf(s.output(0), i))
	}
	near(t, "rows as printed", printed, x.Add(s.mask).Softmax().MatMul(v))
	wrongBy(t, "rows as printed", printed, s.output(0), 0.185)
}

// I40: token by token, with the keys and values so far, attention gives the rows of the whole, of every head.
func TestI40CacheEqualsForward(t *testing.T) {
	s := newSelfAttention()
	for i := range xuHeads {
		var c Cache[float64]
		for n := range xuTokens {
			var a Matrix[float64]
			a, c = CachedForward(c, rowOf(s.of(s.q, i), n), rowOf(s.of(s.k, i), n), rowOf(s.of(s.v, i), n))
			near(t, fmt.Sprintf("head %d, token %d", i, n), a, rowOf(s.output(i), n))
		}
		near(t, "kept keys", c.K, s.of(s.k, i))
		near(t, "kept values", c.V, s.of(s.v, i))
	}
	_, c := CachedForward(Cache[float64]{}, ones(1, 3), ones(1, 3), ones(1, 2))
	if a, _ := CachedForward(c, ones(1, 3), ones(1, 4), ones(1, 2)); a.Err == nil {
		t.Error("a key of another width: got no error")
	}
}

// Section 3 says nothing of what generate does when the window is full: it drops the first token and counts the others from
// 0 again. With learned positions the kept keys and values are then those of other positions (erratum X9). With rotary ones
// nothing has to change: only differences of positions count.
func TestXuStaleCache(t *testing.T) {
	s, e, p := newSelfAttention(), Random("tokens", 7, xuWidth).Scale(4), Random("positions", 6, xuWidth).Scale(4)
	at := func(token, position int) Matrix[float64] { return rowOf(e, token).Add(rowOf(p, position)) }
	window := func(shift int) (c Cache[float64]) { // tokens 1 to 5 at their positions less shift
		for token := 1; token <= 5; token++ {
			x := at(token, token-shift)
			_, c = CachedForward(c, x.MatMul(s.wq), x.MatMul(s.wk), x.MatMul(s.wv))
		}
		return c
	}
	next := at(6, 5)
	newest := func(c Cache[float64]) Matrix[float64] {
		a, _ := CachedForward(c, next.MatMul(s.wq), next.MatMul(s.wk), next.MatMul(s.wv))
		return a
	}
	wrongBy(t, "output with the keys and values of the old positions", newest(window(0)), newest(window(1)), 0.901)

	positions := []int{1, 2, 3, 4, 5, 6}
	moved := []int{0, 1, 2, 3, 4, 5}
	q, k := s.q, s.k
	turned := func(at []int) Matrix[float64] {
		return rotated(q, at, xuTheta).MatMul(rotated(k, at, xuTheta).Transpose())
	}
	near(t, "scores of rotary positions", turned(positions), turned(moved))
}

// latent is section 3.0.1: keys and values of all heads are made of a latent L = XW↓ of d_c = 5 features.
type latent struct {
	selfAttention
	down, upK, upV Matrix[float64] // W↓ (d, d_c), W↑K and W↑V (d_c, h·d_k)
	l              Matrix[float64]
}

const xuLatent = 5

func newLatent() latent {
	m := latent{
		selfAttention: newSelfAttention(),
		down:          Random("down", xuWidth, xuLatent),
		upK:           Random("upK", xuLatent, xuWidth), upV: Random("upV", xuLatent, xuWidth),
	}
	m.l = m.x.MatMul(m.down)
	m.k, m.v = m.l.MatMul(m.upK), m.l.MatMul(m.upV)
	return m
}

// outRows are the rows of W_O that belong to a head.
func (m latent) outRows(i int) Matrix[float64] { return m.wo.Tokens(i*xuHead, (i+1)*xuHead) }

// (37) The latent is a projection of each token alone, common to the keys and values of all heads. Its width 576 is that of
// 512 latent features with the 64 rotary ones of (64), which are another projection (errata X6b, X5).
func TestXuEq37(t *testing.T) {
	m := newLatent()
	for i := range xuTokens {
		near(t, "latent of a token", rowOf(m.x, i).MatMul(m.down), rowOf(m.l, i))
	}
}

// (38) Queries as before, keys LW↑K and values LW↑V.
func TestXuEq38(t *testing.T) {
	m := newLatent()
	near(t, "K", m.k, m.x.MatMul(m.down.MatMul(m.upK)))
	near(t, "V", m.v, m.x.MatMul(m.down.MatMul(m.upV)))
	qkv, heads := m.packed()
	near(t, "heads", MultiHeadForward(qkv, heads), JoinColumns(m.output(0), m.output(1)))
}

// (39) W_K becomes W↓W↑K, of rank d_c at most. "K = W_K" is XW_K: without X it has as many rows as the model has features
// (erratum X8).
func TestXuEq39(t *testing.T) {
	m := newLatent()
	wk := m.down.MatMul(m.upK)
	near(t, "K", LinearForward(m.x, wk, Matrix[float64]{}), m.k)
	if wk.Rows == m.k.Rows {
		t.Errorf("W_K: got %d rows, as many as K", wk.Rows)
	}
}

// (40) QKᵗ = X (W_Q W↑Kᵗ) Lᵗ: the keys' second projection can be absorbed by the queries'.
func TestXuEq40(t *testing.T) {
	m := newLatent()
	for i := range xuHeads {
		absorbed := m.of(m.wq, i).MatMul(m.of(m.upK, i).Transpose())
		near(t, "QKᵗ", m.x.MatMul(absorbed).MatMul(m.l.Transpose()), m.scores(i))
	}
}

// (41) is (40) again, of which the text says that W_Q W↑Kᵗ be stored instead of its factors. With the paper's
// sizes it is 4.17 times as large as they are, and the W_Q W↑K of the text, without transposition, has no shape (erratum X6).
func TestXuEq41(t *testing.T) {
	m := newLatent()
	p := Parameters[float64]{"x": m.x, "wq": m.of(m.wq, 0), "up": m.of(m.upK, 0), "down": m.down}
	delta := Random("delta", xuTokens, xuTokens)
	plain := witness(t, func(z Parameters[complex128]) complexMatrix {
		return z["x"].MatMul(z["wq"]).MatMul(z["x"].MatMul(z["down"]).MatMul(z["up"]).Transpose())
	}, p, delta)
	absorbed := witness(t, func(z Parameters[complex128]) complexMatrix {
		return z["x"].MatMul(z["wq"].MatMul(z["up"].Transpose())).MatMul(z["x"].MatMul(z["down"]).Transpose())
	}, p, delta)
	for name := range p {
		near(t, "∂"+name+" with the product formed in between", absorbed[name], plain[name])
	}
	if m.of(m.wq, 0).MatMul(m.of(m.upK, 0)).Err == nil {
		t.Error("W_Q W↑K: got a product, want no shape")
	}
	const features, dc, head = 7168, 576, 128
	if got := float64(features*dc) / (features*head + dc*head); !(math.Abs(got-4.17) <= 0.01) {
		t.Errorf("W_Q W↑Kᵗ beside its factors: got %.2f times as many numbers, want 4.17", got)
	}
}

// (42) One more token adds a row to X(W_Q W↑Kᵗ). That these rows be kept is superfluous: they are queries, and attention of
// the new token asks for its own only (erratum X6).
func TestXuEq42(t *testing.T) {
	m := newLatent()
	absorbed := m.of(m.wq, 0).MatMul(m.of(m.upK, 0).Transpose())
	before, last := m.x.Tokens(0, xuTokens-1), rowOf(m.x, xuTokens-1)
	near(t, "cache", JoinTokens(before.MatMul(absorbed), last.MatMul(absorbed)), m.x.MatMul(absorbed))
	rho := last.MatMul(absorbed).MatMul(m.l.Transpose()).Scale(0.5).Softmax()
	near(t, "output of the new token without the queries of the others", rho.MatMul(m.of(m.v, 0)), rowOf(m.output(0), xuTokens-1))
}

// (43) The same of XW↓, and this is all that has to be kept.
func TestXuEq43(t *testing.T) {
	m := newLatent()
	var kept []Matrix[float64]
	for n := range xuTokens {
		x := rowOf(m.x, n)
		kept = append(kept, x.MatMul(m.down))
		l := JoinTokens(kept...)
		y := Zeros[float64](1, xuWidth)
		for i := range xuHeads {
			q := x.MatMul(m.of(m.wq, i)).MatMul(m.of(m.upK, i).Transpose())
			rho := q.MatMul(l.Transpose()).Scale(0.5).Softmax()
			y = y.Add(rho.MatMul(l).MatMul(m.of(m.upV, i).MatMul(m.outRows(i))))
		}
		near(t, "Y of a token", y, rowOf(JoinColumns(m.output(0), m.output(1)).MatMul(m.wo), n))
	}
	near(t, "cache", JoinTokens(kept...), m.l)
}

// (44) Y is the row of the heads' weights times the block diagonal of the values times W_O: the O_(i) of its lines 3 to 5 are
// weights, (T, T), and not the outputs of (29), and the blocks are (T, d_v) (erratum X7).
func TestXuEq44(t *testing.T) {
	s := newSelfAttention()
	y := JoinColumns(s.output(0), s.output(1)).MatMul(s.wo)
	none := Zeros[float64](xuTokens, xuHead)
	blocks := JoinTokens(JoinColumns(s.of(s.v, 0), none), JoinColumns(none, s.of(s.v, 1)))
	near(t, "Y", JoinColumns(s.weights(0), s.weights(1)).MatMul(blocks).MatMul(s.wo), y)
	mixed := JoinTokens(s.of(s.v, 0).MatMul(s.wo.Tokens(0, xuHead)), s.of(s.v, 1).MatMul(s.wo.Tokens(xuHead, xuWidth)))
	near(t, "Y, last line", JoinColumns(s.weights(0), s.weights(1)).MatMul(mixed), y)
	if s.output(0).MatMul(s.of(s.v, 0)).Err == nil {
		t.Error("O_(1)V_(1) with the O of (29): got a product, want no shape")
	}
	if blocks.Rows != xuHeads*xuTokens || blocks.Cols != xuWidth {
		t.Errorf("the block diagonal: got (%d, %d), want (h·T, d)", blocks.Rows, blocks.Cols)
	}
}

// (45) The values are XW↓W↑V.
func TestXuEq45(t *testing.T) {
	m := newLatent()
	for i := range xuHeads {
		near(t, "V", m.x.MatMul(m.down).MatMul(m.of(m.upV, i)), m.of(m.v, i))
	}
}

// (46) The values' second projection can be absorbed by W_O: V W_O⁽¹⁾ = L (W↑V W_O⁽¹⁾). Here it is the rows of W_O that belong
// to the head.
func TestXuEq46(t *testing.T) {
	m := newLatent()
	for i := range xuHeads {
		near(t, "V W_O", m.l.MatMul(m.of(m.upV, i).MatMul(m.outRows(i))), m.of(m.v, i).MatMul(m.outRows(i)))
	}
	wrongBy(t, "with the rows of the other head", m.of(m.v, 0).MatMul(m.outRows(1)), m.of(m.v, 0).MatMul(m.outRows(0)), 1.18)
}
