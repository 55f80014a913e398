package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (15) One large W_Q = [W_Q⁽¹⁾ … W_Q⁽ʰ⁾] gives the queries of all heads side by side, one W_K their keys.
func TestXuEq15(t *testing.T) {
	s := newSelfAttention()
	for name, w := range map[string]matrix{"Q": s.wq, "K": s.wk} {
		near(t, name, s.x.MatMul(w), hand.Join(s.x.MatMul(s.of(w, 0)), s.x.MatMul(s.of(w, 1))))
	}
}

// (17) The mask is 1 on and below the diagonal and 0 above it, for all batches and heads alike. The paper does not
// state how the 0 enters the softmax until (26).
func TestXuEq17(t *testing.T) {
	printed := hand.NewMatrix[float64](5, 5,
		1, 0, 0, 0, 0,
		1, 1, 0, 0, 0,
		1, 1, 1, 0, 0,
		1, 1, 1, 1, 0,
		1, 1, 1, 1, 1)
	near(t, "e^M", hand.CausalMask(5).Exp(), printed)
}

// (18) A layer's output has the shape of its input, so that layers can be stacked.
func TestXuEq18(t *testing.T) {
	s := newSelfAttention()
	for layer := range 3 {
		qkv, m := s.packed()
		y := multiHeadForward(qkv, m).MatMul(s.wo)
		if y.Err != nil || y.Rows != s.x.Rows || y.Cols != s.x.Cols {
			t.Fatalf("layer %d: got (%d, %d), %v, want (%d, %d)", layer, y.Rows, y.Cols, y.Err, s.x.Rows, s.x.Cols)
		}
		s.q, s.k, s.v = y.MatMul(s.wq), y.MatMul(s.wk), y.MatMul(s.wv)
	}
}

// (19) Queries, keys and values are three products, or one with W_Q, W_K and W_V side by side. The accompanying code
// has biases that the equation lacks (erratum X10).
func TestXuEq19(t *testing.T) {
	s, b := newSelfAttention(), fixture.Random("b", 1, 3*xuWidth)
	w := hand.Join(s.wq, s.wk, s.wv)
	near(t, "QKV", linearForward(s.x, w, matrix{}), hand.Join(s.q, s.k, s.v))
	_, m := s.packed()
	with, without := linearForward(s.x, w, b), linearForward(s.x, w, matrix{})
	wrongBy(t, "heads without the biases", multiHeadForward(without, m), multiHeadForward(with, m), 0.209)
}

// (20) The columns of the one large matrix are the queries of all heads, then all keys, then all values.
func TestXuEq20(t *testing.T) {
	s := newSelfAttention()
	qkv, m := s.packed()
	for i := range xuHeads {
		q, k, v := split(m, qkv, 0, i)
		near(t, "q of a head", q, s.x.MatMul(s.of(s.wq, i)))
		near(t, "k of a head", k, s.x.MatMul(s.of(s.wk, i)))
		near(t, "v of a head", v, s.x.MatMul(s.of(s.wv, i)))
	}
	byHead := hand.Join(s.of(s.q, 0), s.of(s.k, 0), s.of(s.v, 0), s.of(s.q, 1), s.of(s.k, 1), s.of(s.v, 1))
	wrongBy(t, "packed head by head", multiHeadForward(byHead, m), multiHeadForward(qkv, m), 0.955)
}

// (21) Split into three, it gives the queries, keys and values of all heads.
func TestXuEq21(t *testing.T) {
	s := newSelfAttention()
	qkv := s.x.MatMul(hand.Join(s.wq, s.wk, s.wv))
	for i, want := range []matrix{s.q, s.k, s.v} {
		near(t, "third", qkv.Columns(i*xuWidth, (i+1)*xuWidth), want)
	}
}

// (22) Each of the three is divided into heads by columns: (T, d) as (T, h, d_k), with the heads then in front. To
// reshape it to (h, T, d_k) directly would divide it by rows.
func TestXuEq22(t *testing.T) {
	s := newSelfAttention()
	viewed := func(h int) matrix { // t.view(B, T, n_heads, head_dim).transpose(1, 2)
		return entriesOf(xuTokens, xuHead, func(t, c int) float64 { return s.q.Data[(t*xuHeads+h)*xuHead+c] })
	}
	direct := func(h int) matrix { // t.view(B, n_heads, T, head_dim)
		return entriesOf(xuTokens, xuHead, func(t, c int) float64 { return s.q.Data[(h*xuTokens+t)*xuHead+c] })
	}
	near(t, "first head", viewed(0), s.of(s.q, 0))
	near(t, "second head", viewed(1), s.of(s.q, 1))
	wrongBy(t, "without the transposition", direct(0), s.of(s.q, 0), 1.35)
}

// (24) Each head has its own scores; the product of the joined queries and keys would be the sum of all heads' scores.
func TestXuEq24(t *testing.T) {
	s := newSelfAttention()
	near(t, "QKᵗ of all heads", s.q.MatMul(s.k.Transpose()), s.scores(0).Add(s.scores(1)))
	one := headParameters[float64]{Wq: s.wq, Wk: s.wk, Wv: s.wv}
	wrongBy(
		t, "one head of the full width", headForward(s.x, one, s.mask, matrix{}),
		hand.Join(s.output(0), s.output(1)), 0.409,
	)
}

// (25) The scores are divided by √d_k, the root of the width of a head, not of the model.
func TestXuEq25(t *testing.T) {
	s := newSelfAttention()
	for i := range xuHeads {
		near(t, "weights", attentionWeights(s.of(s.q, i), s.of(s.k, i), s.mask), s.weights(i))
	}
	wrongBy(t, "weights with √d", s.scores(0).Scale(1/math.Sqrt(xuWidth)).Add(s.mask).Softmax(), s.weights(0), 0.136)
}

// (26) Scores above the diagonal become −∞, the others stay: that is, M is added.
func TestXuEq26(t *testing.T) {
	s := newSelfAttention()
	binary := s.mask.Exp()
	for h := range xuHeads {
		scaled := s.scores(h).Scale(0.5)
		filled := entriesOf(xuTokens, xuTokens, func(i, j int) float64 { // masked_fill(mask == 0, -inf)
			if binary.At(i, j) == 0 {
				return math.Inf(-1)
			}
			return scaled.At(i, j)
		})
		added := scaled.Add(s.mask)
		for i, want := range filled.Data {
			if added.Data[i] != want {
				t.Errorf("head %d, entry %d: got %v, want %v", h, i, added.Data[i], want)
			}
		}
		near(t, "weights", filled.Softmax(), s.weights(h))
	}
}

// (27) The softmax is taken along the rows, over the keys: each row sums to 1, and hidden keys weigh exactly nothing.
// The expression below the brace omits the mask, as do (28), (44) and (57) (erratum X16).
func TestXuEq27(t *testing.T) {
	s := newSelfAttention()
	for i := range xuHeads {
		rho := s.weights(i)
		near(t, "Σ of a row", rho.Sum(), ones(xuTokens, 1))
		if hidden := rho.Mul(s.mask.Exp().Scale(-1).Shift(1)); frobenius(hidden) != 0 {
			t.Errorf("above the diagonal: got %v, want exact zeros", hidden.Data)
		}
		for r := range xuTokens {
			near(
				t, "row", rowOf(rho, r).Columns(0, r+1),
				hand.NewMatrix(1, r+1, sharesOf(rowOf(s.scores(i).Scale(0.5), r).Data[:r+1])...),
			)
		}
	}
	wrongBy(t, "weights below the brace", s.scores(0).Scale(0.5).Softmax(), s.weights(0), 0.743)
	wrongBy(
		t, "softmax along the columns", s.scores(0).Scale(0.5).Add(s.mask).Transpose().Softmax().Transpose(),
		s.weights(0), 0.476,
	)
}

// (28) Each head's weights times its values, side by side, have d_v·h = d columns.
func TestXuEq28(t *testing.T) {
	s := newSelfAttention()
	qkv, m := s.packed()
	want := hand.Zeros[float64](xuTokens, xuWidth)
	for h := range xuHeads {
		for i := range xuTokens {
			copy(want.Data[i*xuWidth+h*xuHead:], weightedRows(rowOf(s.weights(h), i).Data, s.of(s.v, h)).Data)
		}
	}
	near(t, "heads", multiHeadForward(qkv, m), want)
}

// (29) The output is the joined heads times W_O, row by row independently of one another.
func TestXuEq29(t *testing.T) {
	s := newSelfAttention()
	qkv, m := s.packed()
	o := multiHeadForward(qkv, m)
	y := linearForward(o, s.wo, matrix{})
	for i := range xuTokens {
		near(
			t, "y of a token", rowOf(y, i), hand.Join(rowOf(s.output(0), i), rowOf(s.output(1), i)).MatMul(s.wo),
		)
	}
}

// (30) Positions are 0 to T−1, the same for every sequence of a batch.
func TestXuEq30(t *testing.T) {
	table, printed := fixture.Random("wpe", 9, 3), []int{0, 1, 2, 3, 4}
	once := oneHotRows(printed, 9).MatMul(table)
	near(t, "positions of two sequences", embeddingForward(table, hand.Positions(2, 5)), hand.JoinTokens(once, once))
}

// (31) Text to image: the queries are computed from the image, keys and values from the text. The weights are (n image,
// n text). Keys and values come from the same text, but they are not the same thing: each has its own projection
// (erratum X12).
func TestXuEq31(t *testing.T) {
	image, text := fixture.Random("image", 4, xuWidth).Scale(4), fixture.Random("text", 5, xuWidth).Scale(4)
	s, none := newSelfAttention(), matrix{}
	q, k, v := image.MatMul(s.wq), text.MatMul(s.wk), text.MatMul(s.wv)
	rho := attentionWeights(q, k, none)
	if rho.Rows != 4 || rho.Cols != 5 {
		t.Errorf("weights: got (%d, %d), want (4, 5)", rho.Rows, rho.Cols)
	}
	want := entriesOf(4, xuWidth, func(i, j int) float64 {
		return dot(
			hand.NewMatrix(1, 5, sharesOf(rowOf(q.MatMul(k.Transpose()).Scale(1/math.Sqrt(xuWidth)), i).Data)...),
			rowOf(v.Transpose(), j),
		)
	})
	out := attentionForward(q, k, v, none, none)
	near(t, "O", out, want)
	weights, m := s.cross()
	near(t, "O by hand", crossAttentionForward(image, text, weights, m), want)
	wrongBy(t, "O with the keys as values", attentionForward(q, k, k, none, none), out, 0.835)
	wrongBy(t, "O without projections", attentionForward(image, text, text, none, none), out, 1.19)
}

// (32) Image to text: the same with the roles exchanged, which is not the transpose of (31).
func TestXuEq32(t *testing.T) {
	image, text := fixture.Random("image", 4, xuWidth).Scale(4), fixture.Random("text", 5, xuWidth).Scale(4)
	s, none := newSelfAttention(), matrix{}
	forth := attentionWeights(image.MatMul(s.wq), text.MatMul(s.wk), none)
	back := attentionWeights(text.MatMul(s.wq), image.MatMul(s.wk), none)
	near(t, "Σ of a row", back.Sum(), ones(5, 1))
	wrongBy(t, "the transpose of (31)", forth.Transpose(), back, 0.426)

	// Δ arrives at both: at the image through keys and values, at the text through queries.
	p := parameters{"image": image, "text": text}
	delta := fixture.Random("delta", 5, xuWidth)
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		return attentionForward(
			z["text"].MatMul(lift(s.wq)), z["image"].MatMul(lift(s.wk)), z["image"].MatMul(lift(s.wv)), none, none,
		)
	}, p, delta)
	dq, dk, dv := attentionBackward(text.MatMul(s.wq), image.MatMul(s.wk), image.MatMul(s.wv), none, none, delta)
	weights, m := s.cross()
	near(t, "by hand", crossAttentionForward(text, image, weights, m), back.MatMul(image.MatMul(s.wv)))
	ofText, ofImage, _ := crossAttentionBackward(text, image, weights, m, delta)
	near(t, "Δ of the text, by hand", ofText, truth["text"])
	near(t, "Δ of the image, by hand", ofImage, truth["image"])
	near(t, "Δ of the text", dq.MatMul(s.wq.Transpose()), truth["text"])
	near(t, "Δ of the image", dk.MatMul(s.wk.Transpose()).Add(dv.MatMul(s.wv.Transpose())), truth["image"])
}

// I15: one projection with the weights of queries, keys and values of all heads side by side is the same as a
// projection for each, forward and backward.
func TestI15FusedEqualsSliced(t *testing.T) {
	s, b, delta := newSelfAttention(), fixture.Random("b", 1, 3*xuWidth), fixture.Random("delta", xuTokens, xuWidth)
	fused := hand.Join(s.wq, s.wk, s.wv)
	_, m := s.packed()
	qkv := linearForward(s.x, fused, b)
	dx, dw, db := linearBackward(s.x, fused, multiHeadBackward(qkv, m, delta))
	out, sum := multiHeadForward(qkv, m), hand.Zeros[float64](xuTokens, xuWidth)
	for i := range xuHeads {
		own := headParameters[float64]{
			Wq: s.of(s.wq, i), Wk: s.of(s.wk, i), Wv: s.of(s.wv, i),
			Bq: s.of(b, i), Bk: s.of(b, xuHeads+i), Bv: s.of(b, 2*xuHeads+i),
		}
		near(t, "output", s.of(out, i), headForward(s.x, own, s.mask, matrix{}))
		part, g := headBackward(s.x, own, s.mask, matrix{}, s.of(delta, i))
		sum = sum.Add(part)
		near(
			t, "∂w", hand.Join(s.of(dw, i), s.of(dw, xuHeads+i), s.of(dw, 2*xuHeads+i)),
			hand.Join(g.Wq, g.Wk, g.Wv),
		)
		near(
			t, "∂b", hand.Join(s.of(db, i), s.of(db, xuHeads+i), s.of(db, 2*xuHeads+i)),
			hand.Join(g.Bq, g.Bk, g.Bv),
		)
	}
	near(t, "Δx", dx, sum)
}
