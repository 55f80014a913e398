package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// latent is the layer of section 3.0.1: keys and values of all heads are computed from a latent L = XW↓ of d_c = 5
// features.
type latent struct {
	selfAttention
	down, upK, upV matrix // W↓ (d, d_c), W↑K and W↑V (d_c, h·d_k)
	l              matrix
}

const xuLatent = 5

func newLatent() latent {
	m := latent{
		selfAttention: newSelfAttention(),
		down:          fixture.Random("down", xuWidth, xuLatent),
		upK:           fixture.Random("upK", xuLatent, xuWidth), upV: fixture.Random("upV", xuLatent, xuWidth),
	}
	m.l = m.x.MatMul(m.down)
	m.k, m.v = m.l.MatMul(m.upK), m.l.MatMul(m.upV)
	return m
}

// hand returns the layer in the form of the formulas by hand.
func (m latent) hand() mlaParameters {
	return mlaParameters{Wq: m.wq, Down: m.down, UpK: m.upK, UpV: m.upV, Wo: m.wo}
}

// outRows returns the rows of W_O that belong to a head.
func (m latent) outRows(i int) matrix { return m.wo.Tokens(i*xuHead, (i+1)*xuHead) }

// (37) The latent is a projection of each token alone, shared by the keys and values of all heads. Its width 576 counts
// 512 latent features and the 64 rotary ones of (64), which are another projection (errata X6b, X5).
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
	y := hand.Join(m.output(0), m.output(1)).MatMul(m.wo)
	near(t, "Y", multiHeadForward(qkv, heads).MatMul(m.wo), y)
	near(t, "Y by hand", mlaForward(m.x, m.hand(), heads), y)
}

// (39) W_K becomes W↓W↑K, of rank d_c at most. "K = W_K" is XW_K: without X it has as many rows as the model has
// features (erratum X8).
func TestXuEq39(t *testing.T) {
	m := newLatent()
	wk := m.down.MatMul(m.upK)
	near(t, "K", linearForward(m.x, wk, matrix{}), m.k)
	none := matrix{}
	if attentionForward(m.of(m.q, 0), m.of(wk, 0), m.of(m.v, 0), none, none).Err == nil {
		t.Error("W_K for K: got an output, want no shape")
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

// (41) The same again, with the same gradients. The text has W_Q W↑Kᵗ stored instead of its factors. With the paper's
// sizes it is 4.17 times as large as they are, and the shapes of the W_Q W↑K of the text, without transposition, do not
// match (erratum X6).
func TestXuEq41(t *testing.T) {
	m := newLatent()
	p := parameters{"x": m.x, "wq": m.of(m.wq, 0), "up": m.of(m.upK, 0), "down": m.down}
	delta := fixture.Random("delta", xuTokens, xuTokens)
	plain := complexStep(t, func(z complexParameters) complexMatrix {
		return z["x"].MatMul(z["wq"]).MatMul(z["x"].MatMul(z["down"]).MatMul(z["up"]).Transpose())
	}, p, delta)
	absorbed := complexStep(t, func(z complexParameters) complexMatrix {
		return z["x"].MatMul(z["wq"].MatMul(z["up"].Transpose())).MatMul(z["x"].MatMul(z["down"]).Transpose())
	}, p, delta)
	for name := range p {
		near(t, "∂"+name+" with the product formed in between", absorbed[name], plain[name])
	}
	_, heads := m.packed()
	dx, g := mlaBackward(m.x, m.hand(), heads, fixture.Random("dy", xuTokens, xuWidth))
	dxAbsorbed, gAbsorbed := mlaAbsorbedBackward(m.x, m.hand(), heads, fixture.Random("dy", xuTokens, xuWidth))
	near(t, "Δx by hand", dxAbsorbed, dx)
	near(t, "∂W_Q by hand", gAbsorbed.Wq, g.Wq)
	near(t, "∂W↑K by hand", gAbsorbed.UpK, g.UpK)
	near(t, "∂W↓ by hand", gAbsorbed.Down, g.Down)
	if m.of(m.wq, 0).MatMul(m.of(m.upK, 0)).Err == nil {
		t.Error("W_Q W↑K: got a product, want no shape")
	}
	const features, dc, head = 7168 / 64, 576 / 64, 128 / 64 // the published sizes, all of them divided by 64
	large := mlaParameters{Wq: ones(features, head), UpK: ones(dc, head), UpV: ones(dc, head), Wo: ones(head, features)}
	product := large.Wq.MatMul(large.UpK.Transpose())
	if got := float64(len(product.Data)) / float64(len(large.Wq.Data)+
		len(large.UpK.Data)); !(math.Abs(got-4.17) <= 0.01) {
		t.Errorf("W_Q W↑Kᵗ beside its factors: got %.2f times as many numbers, want 4.17", got)
	}
}

// (42) One more token adds a row to X(W_Q W↑Kᵗ). Caching these rows is superfluous: they are queries, and attention of
// the new token needs only its own (erratum X6).
func TestXuEq42(t *testing.T) {
	m := newLatent()
	absorbed := m.of(m.wq, 0).MatMul(m.of(m.upK, 0).Transpose())
	before, last := m.x.Tokens(0, xuTokens-1), rowOf(m.x, xuTokens-1)
	near(t, "cache", hand.JoinTokens(before.MatMul(absorbed), last.MatMul(absorbed)), m.x.MatMul(absorbed))
	rho := last.MatMul(absorbed).MatMul(m.l.Transpose()).Scale(0.5).Softmax()
	near(
		t, "output of the new token without the queries of the others", rho.MatMul(m.of(m.v, 0)),
		rowOf(m.output(0), xuTokens-1),
	)
}

// (43) The same for XW↓, and only this must be cached.
func TestXuEq43(t *testing.T) {
	m := newLatent()
	var kept []matrix
	for n := range xuTokens {
		x := rowOf(m.x, n)
		kept = append(kept, x.MatMul(m.down))
		l := hand.JoinTokens(kept...)
		y := hand.Zeros[float64](1, xuWidth)
		for i := range xuHeads {
			q := x.MatMul(m.of(m.wq, i)).MatMul(m.of(m.upK, i).Transpose())
			rho := q.MatMul(l.Transpose()).Scale(0.5).Softmax()
			y = y.Add(rho.MatMul(l).MatMul(m.of(m.upV, i).MatMul(m.outRows(i))))
		}
		near(t, "Y of a token", y, rowOf(hand.Join(m.output(0), m.output(1)).MatMul(m.wo), n))
	}
	near(t, "cache", hand.JoinTokens(kept...), m.l)
}

// (44) Y is the row of the heads' weights times the block diagonal of the values times W_O: the O_(i) of its lines 3 to
// 5 are weights, (T, T), and not the outputs of (29), and the blocks are (T, d_v) (erratum X7).
func TestXuEq44(t *testing.T) {
	s := newSelfAttention()
	y := hand.Join(s.output(0), s.output(1)).MatMul(s.wo)
	none := hand.Zeros[float64](xuTokens, xuHead)
	blocks := hand.JoinTokens(hand.Join(s.of(s.v, 0), none), hand.Join(none, s.of(s.v, 1)))
	near(t, "Y", hand.Join(s.weights(0), s.weights(1)).MatMul(blocks).MatMul(s.wo), y)
	mixed := hand.JoinTokens(
		s.of(s.v, 0).MatMul(s.wo.Tokens(0, xuHead)), s.of(s.v, 1).MatMul(s.wo.Tokens(xuHead, xuWidth)),
	)
	near(t, "Y, last line", hand.Join(s.weights(0), s.weights(1)).MatMul(mixed), y)
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

// (46) The values' second projection can be absorbed by W_O: V W_O⁽¹⁾ = L (W↑V W_O⁽¹⁾). Here these are the rows of W_O
// that belong to the head.
func TestXuEq46(t *testing.T) {
	m := newLatent()
	for i := range xuHeads {
		near(t, "V W_O", m.l.MatMul(m.of(m.upV, i).MatMul(m.outRows(i))), m.of(m.v, i).MatMul(m.outRows(i)))
	}
	wrongBy(
		t, "with the rows of the other head", m.of(m.v, 0).MatMul(m.outRows(1)), m.of(m.v, 0).MatMul(m.outRows(0)),
		1.18,
	)
}
