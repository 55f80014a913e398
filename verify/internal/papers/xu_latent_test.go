package papers

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// decoupled is the layer of section 4.1: a latent for the queries too, and in addition to the 4 features of a head 2
// that are rotated, whose keys all heads share. Tokens are rows here, and the paper's columns are transposed.
type decoupled struct {
	latent
	downQ, upQ matrix // W↓Q (d, 3), W↑Q (3, h·d_h)
	wqR, wkR   matrix // W_QR (3, h·d_R), W_KR (d_c, d_R)
	cq         matrix // c^Q
	qR, kR     matrix // rotated
}

const xuRotated = 2

func newDecoupled() decoupled {
	m := decoupled{
		latent: newLatent(), downQ: fixture.Random("downQ", xuWidth, 3), upQ: fixture.Random("upQ", 3, xuWidth),
		wqR: fixture.Random("wqR", 3, xuHeads*xuRotated), wkR: fixture.Random("wkR", xuLatent, xuRotated),
	}
	m.cq = m.x.MatMul(m.downQ)
	m.q = m.cq.MatMul(m.upQ)
	unrotated := m.cq.MatMul(m.wqR)
	at := natural(xuTokens)
	m.qR = hand.Join(
		rotated(unrotated.Columns(0, xuRotated), at, xuTheta),
		rotated(unrotated.Columns(xuRotated, 2*xuRotated), at, xuTheta),
	)
	m.kR = rotated(m.l.MatMul(m.wkR), at, xuTheta)
	return m
}

// hand returns the layer in the form of the formulas by hand.
func (m decoupled) hand() (mlaRoPEParameters, multiHead, rotary) {
	p := mlaRoPEParameters{
		DownQ: m.downQ, UpQ: m.upQ, RoPEQ: m.wqR, Down: m.down, UpK: m.upK, RoPEK: m.wkR, UpV: m.upV, Wo: m.wo,
	}
	heads := multiHead{Batch: 1, Heads: xuHeads, QK: xuHead, Masks: []matrix{m.mask}}
	return p, heads, rotary{Positions: natural(xuTokens), Size: xuRotated, Theta: xuTheta}
}

// mixed returns the output of the layer.
func (m decoupled) mixed() matrix { return hand.Join(m.attend(0), m.attend(1)).MatMul(m.wo) }

// queries and keys of a head, (T, d_h + d_R).
func (m decoupled) queries(i int) matrix {
	return hand.Join(m.of(m.q, i), m.qR.Columns(i*xuRotated, (i+1)*xuRotated))
}

func (m decoupled) keys(i int) matrix { return hand.Join(m.of(m.k, i), m.kR) }

// attend returns a head by AttentionForward.
func (m decoupled) attend(i int) matrix {
	return attentionForward(m.queries(i), m.keys(i), m.of(m.v, i), m.mask, matrix{})
}

// columnOf returns token t as a column, as in the paper from (60) on.
func columnOf(m matrix, t int) matrix { return rowOf(m, t).Transpose() }

// (60) The keys and values of a token and a head are W↑K c and W↑V c. From here on tokens are columns and W↑K is (d_h,
// d_c), the transpose of the matrix in (38), whose product with such a c does not exist (erratum X13).
func TestXuEq60(t *testing.T) {
	m := newDecoupled()
	for i := range xuHeads {
		for n := range xuTokens {
			c := columnOf(m.l, n)
			near(t, "k", m.of(m.upK, i).Transpose().MatMul(c), columnOf(m.of(m.k, i), n))
			near(t, "v", m.of(m.upV, i).Transpose().MatMul(c), columnOf(m.of(m.v, i), n))
		}
	}
	if m.of(m.upK, 0).MatMul(columnOf(m.l, 0)).Err == nil {
		t.Error("W↑K of (38) times a column: got a product, want no shape")
	}
}

// (61) The outputs of a token's heads are joined.
func TestXuEq61(t *testing.T) {
	m := newDecoupled()
	joined := hand.Join(m.attend(0), m.attend(1))
	p, heads, r := m.hand()
	near(t, "Y by hand", mlaRoPELatentForward(m.x, p, heads, r), m.mixed())
	qkv := hand.Join(m.queries(0), m.queries(1), m.keys(0), m.keys(1), m.v)
	near(
		t, "o",
		multiHeadForward(qkv, multiHead{Batch: 1, Heads: xuHeads, QK: xuHead + xuRotated, Masks: []matrix{m.mask}}),
		joined,
	)
}

// (62) The output is the sum of the values for j = 1 … t, weighted by the softmax over j of q_t·k_j/√(d_h + d_R), the
// width with the rotated features. The j below the softmax is omitted (erratum X13): over the queries it would be
// another softmax.
func TestXuEq62(t *testing.T) {
	m := newDecoupled()
	for i := range xuHeads {
		q, k := m.queries(i), m.keys(i)
		for n := range xuTokens {
			x := make([]float64, n+1)
			for j := range x {
				x[j] = dot(rowOf(q, n), rowOf(k, j)) / math.Sqrt(xuHead+xuRotated)
			}
			near(t, "o", weightedRows(sharesOf(x), m.of(m.v, i)), rowOf(m.attend(i), n))
		}
	}
	raw := m.queries(0).MatMul(m.keys(0).Transpose())
	weights := attentionWeights(m.queries(0), m.keys(0), m.mask)
	wrongBy(t, "weights with √d_h", raw.Scale(0.5).Add(m.mask).Softmax(), weights, 0.0234)
	scaled := raw.Scale(1 / math.Sqrt(xuHead+xuRotated)).Add(m.mask)
	wrongBy(t, "softmax over the queries", scaled.Transpose().Softmax().Transpose(), weights, 0.842)
}

// (63) A query has a part W↑Q c^Q and a rotated part RoPE(W_QR c^Q). Rotating the matrix W_QR W↓Q before it meets h, as
// the first line has it, is the same. Scores are the sums of the parts' scores.
func TestXuEq63(t *testing.T) {
	m := newDecoupled()
	for i := range xuHeads {
		w := m.downQ.MatMul(m.wqR.Columns(i*xuRotated, (i+1)*xuRotated)) // (d, d_R)
		for n := range xuTokens {
			at := make([]int, xuWidth)
			for j := range at {
				at[j] = n
			}
			own := rowOf(m.x, n).MatMul(rotated(w, at, xuTheta))
			near(
				t, "q", hand.Join(rowOf(m.x, n).MatMul(m.downQ).MatMul(m.of(m.upQ, i)), own),
				rowOf(m.queries(i), n),
			)
		}
		pieces := m.of(m.q, i).MatMul(m.of(m.k, i).Transpose()).Add(
			m.qR.Columns(i*xuRotated, (i+1)*xuRotated).MatMul(m.kR.Transpose()),
		)
		near(t, "scores", m.queries(i).MatMul(m.keys(i).Transpose()), pieces)
	}
}

// (64) A key has W↑K c and the rotated W_KR c. The published DeepSeek model computes the rotated part from h, not from
// the latent (erratum X5): another function with weights of another shape. Here both are right; from the latent it is
// the special case W↓W_KR.
func TestXuEq64(t *testing.T) {
	m := newDecoupled()
	at := natural(xuTokens)
	w := fixture.Random("of h", xuWidth, xuRotated)
	near(t, "rotated part of the latent", m.kR, rotated(m.x.MatMul(m.down.MatMul(m.wkR)), at, xuTheta))
	latent := m.attend(0)
	m.kR = rotated(m.x.MatMul(w), at, xuTheta)
	ofH := m.attend(0)
	p, heads, r := m.hand()
	p.RoPEK = w
	near(t, "Y with the rotated part of h, by hand", mlaRoPEForward(m.x, p, heads, r), m.mixed())
	// the best approximation of w from the latent: its projection on the columns of W↓
	near(t, "orthogonal to W↓", m.down.Transpose().MatMul(residual(m.down, w)).Shift(1), ones(xuLatent, xuRotated))
	m.kR = rotated(m.x.MatMul(w.Sub(residual(m.down, w))), at, xuTheta)
	wrongBy(t, "rotated part of h by the best W_KR of the latent", m.attend(0), ofH, 0.0383)
	wrongBy(t, "one for the other", latent, ofH, 0.0648)
}

// residual returns the part of the columns of w that is orthogonal to the columns of a.
func residual(a, w matrix) matrix {
	basis := a.Transpose() // its rows, made orthonormal
	var rows []matrix
	for i := range basis.Rows {
		v := rowOf(basis, i)
		for range 2 { // twice is enough for rounding
			for _, u := range rows {
				v = v.Sub(u.Scale(dot(u, v)))
			}
		}
		rows = append(rows, v.Scale(1/frobenius(v)))
	}
	u := hand.JoinTokens(rows...)
	return w.Sub(u.Transpose().MatMul(u.MatMul(w)))
}

// (65) Keys have d_h + d_R features. The paper does not state that the rotated ones are the same for all heads; with a
// W_KR for each head there would be h·d_R of them to cache (erratum X5).
func TestXuEq65(t *testing.T) {
	m := newDecoupled()
	for i := range xuHeads {
		near(t, "keys", m.keys(i), hand.Join(m.l.MatMul(m.of(m.upK, i)), m.kR))
		if got := m.keys(i).Cols; got != 6 {
			t.Errorf("keys: got %d features, want d_h + d_R = 6", got)
		}
	}
	own := m.keys(1).Columns(0, xuHead)
	other := hand.Join(
		own, rotated(m.l.MatMul(fixture.Random("wkR of head 1", xuLatent, xuRotated)), natural(xuTokens), xuTheta),
	)
	a := attentionForward(m.queries(1), other, m.of(m.v, 1), m.mask, matrix{})
	wrongBy(t, "second head with rotated keys of its own", a, m.attend(1), 0.0716)
}

// (66) Values are W↑V W↓ h, without a rotated part.
func TestXuEq66(t *testing.T) {
	m := newDecoupled()
	for i := range xuHeads {
		for n := range xuTokens {
			w := m.down.MatMul(m.of(m.upV, i)).Transpose()
			near(t, "v", w.MatMul(columnOf(m.x, n)), columnOf(m.of(m.v, i), n))
		}
	}
}

// (67) The query is computed from the new token alone and need not be cached.
func TestXuEq67(t *testing.T) {
	m := newDecoupled()
	for n := range xuTokens {
		c := rowOf(m.x, n).MatMul(m.downQ)
		for i := range xuHeads {
			own := rotated(c.MatMul(m.wqR.Columns(i*xuRotated, (i+1)*xuRotated)), []int{n}, xuTheta)
			near(t, "q", hand.Join(c.MatMul(m.of(m.upQ, i)), own), rowOf(m.queries(i), n))
		}
	}
}

// (68) The keys and values of all heads are computed from the cache, d_c + d_R floats per token; the rotated ones from
// c alone if they are computed from it, so that caching them only saves time (erratum X5). They absorb into the queries
// as in (40).
func TestXuEq68(t *testing.T) {
	m := newDecoupled()
	var kept []matrix // a row for each token: c, k^R
	for n := range xuTokens {
		c := rowOf(m.x, n).MatMul(m.down)
		kept = append(kept, hand.Join(c, rotated(c.MatMul(m.wkR), []int{n}, xuTheta)))
		cache := hand.JoinTokens(kept...)
		if full := m.upK.Cols + m.upV.Cols; cache.Cols != 7 || full != 16 {
			t.Errorf(
				"cache: got %d floats per token in place of %d, want d_c + d_R = 7 in place of 2·h·d_h = 16",
				cache.Cols, full,
			)
		}
		l, kR := cache.Columns(0, xuLatent), cache.Columns(xuLatent, xuLatent+xuRotated)
		near(t, "k^R of c", rotated(l.MatMul(m.wkR), natural(n+1), xuTheta), kR)
		for i := range xuHeads {
			k := hand.Join(l.MatMul(m.of(m.upK, i)), kR)
			q := rowOf(m.queries(i), n)
			none := matrix{}
			near(
				t, fmt.Sprintf("head %d of token %d", i, n),
				attentionForward(q, k, l.MatMul(m.of(m.upV, i)), none, none), rowOf(m.attend(i), n),
			)

			absorbed := hand.Join(
				q.Columns(0, xuHead).MatMul(m.of(m.upK, i).Transpose()), q.Columns(xuHead, xuHead+xuRotated),
			)
			rho := absorbed.MatMul(cache.Transpose()).Scale(1 / math.Sqrt(xuHead+xuRotated)).Softmax()
			near(t, "absorbed", rho.MatMul(l).MatMul(m.of(m.upV, i)), rowOf(m.attend(i), n))
		}
	}
}
