package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// unscaled returns attention without the factor 1/√d.
func unscaled(q, k, v, mask matrix) matrix {
	return attentionForward(q.Scale(math.Sqrt(float64(q.Cols))), k, v, mask, matrix{})
}

// (7) The representation of a token is the sum of all values weighted by α, which sums to 1.
func TestNoteEq07(t *testing.T) {
	s := newNote()
	for i := range 6 {
		sum := hand.Zeros[float64](8, 1)
		for j := range 6 {
			sum = sum.Add(s.v.MatMul(tokenColumn(s.x, j)).Scale(s.alpha.At(i, j)))
		}
		near(t, "Σ α v", sum, tokenColumn(s.h, i))
	}
	near(t, "h", unscaled(s.qs, s.ks, s.vs, matrix{}), s.h)
}

// (8) The weights are the softmax of the products of the query with the keys, here without a scale. q = Q x has tokens
// as columns; the same Q applied to tokens as rows, as in section 3, gives another matrix (erratum S6).
func TestNoteEq08(t *testing.T) {
	s := newNote()
	want := hand.Zeros[float64](6, 6)
	for i := range 6 {
		q, sum := s.q.MatMul(tokenColumn(s.x, i)), 0.0
		for j := range 6 {
			want.Data[i*6+j] = math.Exp(dot(q, s.k.MatMul(tokenColumn(s.x, j))))
			sum += want.Data[i*6+j]
		}
		for j := range 6 {
			want.Data[i*6+j] /= sum
		}
	}
	near(t, "α", attentionWeights(s.qs.Scale(math.Sqrt(8)), s.ks, matrix{}), want)
	rows := unscaled(s.x.MatMul(s.q), s.x.MatMul(s.k), s.x.MatMul(s.v), matrix{})
	wrongBy(t, "h with x Q for Q x", rows, s.h, 1.26)
}

// The sentences of 2.2, the same words in two orders, by number: the 0, oven 1, cooked 2, bread 3, so 4.
func noteSentences() (first, second []int) { return []int{0, 1, 2, 0, 3, 4}, []int{0, 3, 2, 0, 1, 4} }

// (9) The example has six words and so six rows, where the print has five; the two "the" have the same row (erratum
// S8).
func TestNoteEq09(t *testing.T) {
	first, _ := noteSentences()
	embedding := fixture.Random("E", 5, 8).Scale(4)
	x := embeddingForward(embedding, first)
	if x.Rows != 6 {
		t.Errorf("got %d rows, want 6", x.Rows)
	}
	near(t, "the, and the", x.Tokens(0, 1), x.Tokens(3, 4))
	near(t, "x", x, oneHotRows(first, 5).MatMul(embedding))
}

// (10) The weights of "so" are a softmax of six scores, equal for equal words. In the other order they are the same
// numbers in that order, and the output for "so" is the same: attention does not depend on positions.
func TestNoteEq10(t *testing.T) {
	s := newNote()
	first, second := noteSentences()
	embedding := fixture.Random("E", 5, 8).Scale(4)
	attend := func(words []int) (weights, h matrix) {
		x := embeddingForward(embedding, words)
		q, k, v := x.MatMul(s.q.Transpose()), x.MatMul(s.k.Transpose()), x.MatMul(s.v.Transpose())
		return q.Tokens(5, 6).MatMul(k.Transpose()).Softmax(), unscaled(q, k, v, matrix{}).Tokens(5, 6)
	}
	weights, h := attend(first)
	swapped, other := attend(second)
	near(t, "α of the two the", weights.Columns(0, 1), weights.Columns(3, 4))
	near(t, "α in the other order", swapped, embeddingForward(weights.Transpose(), []int{0, 4, 2, 3, 1, 5}).Transpose())
	near(t, "h of so", other, h)
}

// (11) The weight of the first word has all six exponentials in its denominator. Printed, the sum ends with "bread" and
// lacks "so" (erratum S8).
func TestNoteEq11(t *testing.T) {
	s := newNote()
	first, _ := noteSentences()
	x := embeddingForward(fixture.Random("note11", 5, 8).Scale(4), first)
	scores := x.Tokens(5, 6).MatMul(s.q.Transpose()).MatMul(x.MatMul(s.k.Transpose()).Transpose())
	e := scores.Exp()
	right := e.Div(e.Sum())
	near(t, "α", scores.Softmax(), right)
	wrongBy(t, "α without so below", e.Div(e.Columns(0, 5).Sum()), right, 0.064)
}

// (12) A row of P is added to each token. The output for a word then depends on its position and on the others'.
func TestNoteEq12(t *testing.T) {
	s := newNote()
	first, second := noteSentences()
	embedding, p := fixture.Random("E", 5, 8).Scale(4), fixture.Random("P", 9, 8)
	attend := func(words []int) matrix {
		x := embeddingForward(embedding, words).Add(embeddingForward(p, hand.Positions(1, 6)))
		for i, word := range words {
			near(t, "x̃", x.Tokens(i, i+1), p.Tokens(i, i+1).Add(embedding.Tokens(word, word+1)))
		}
		return unscaled(x.MatMul(s.q.Transpose()), x.MatMul(s.k.Transpose()), x.MatMul(s.v.Transpose()), matrix{})
	}
	wrongBy(t, "h of so in the other order", attend(second).Tokens(5, 6), attend(first).Tokens(5, 6), 0.158)
}

// (13) The bias −|i − j| reduces the weight of distant tokens. The printed vector, −i … −1, 0, −1 … −(n−i), has n + 1
// entries for n scores: one too many on the left (erratum S1). Each head has its own slope m, and under a causal mask
// −m(i − j) is the same as +mj.
func TestNoteEq13(t *testing.T) {
	s := newNote()
	const n = 6
	right := hand.Zeros[float64](n, n)
	for i := range n {
		for j := range n {
			right.Data[i*n+j] = -math.Abs(float64(i - j))
		}
	}
	late := make([]matrix, n)
	for i := 1; i <= n; i++ {
		var printed []float64
		for b := -i; b <= n-i; b++ {
			printed = append(printed, -math.Abs(float64(b)))
		}
		bias := hand.NewMatrix(1, len(printed), printed...)
		if sum := s.scores.Tokens(i-1, i).Add(bias); sum.Err == nil || bias.Cols != n+1 {
			t.Errorf("token %d: got %d biases for %d scores", i, bias.Cols, n)
		}
		near(t, "without the first", bias.Columns(1, n+1), right.Tokens(i-1, i))
		late[i-1] = bias.Columns(0, n)
	}
	wrongBy(
		t, "α without the last", s.scores.Add(hand.JoinTokens(late...)).Softmax(), s.scores.Add(right).Softmax(), 0.454,
	)

	const heads = 2
	ramp := hand.Zeros[float64](1, n)
	for j := range n {
		ramp.Data[j] = float64(j)
	}
	for h := 1; h <= heads; h++ {
		m := math.Pow(2, -8*float64(h)/heads)
		near(t, "biases by hand", hand.ALiBiMask(n, h, heads), right.Scale(m))
		causal := s.scores.Add(hand.CausalMask(n))
		near(t, "α with a slope", causal.Add(right.Scale(m)).Softmax(), causal.Add(ramp.Scale(m)).Softmax())
		wrongBy(
			t, "α with a slope of 1", causal.Add(right).Softmax(), causal.Add(right.Scale(m)).Softmax(),
			[heads]float64{0.31, 0.335}[h-1],
		)
	}
}

// noteHeads returns k = 2 heads of d/k = 4 for tokens as rows, d = 8, side by side: Q, K, V and O are (d, d).
func noteHeads() (s note, packed matrix, m multiHead, o matrix) {
	s = newNote()
	packed = hand.Join(s.x.MatMul(s.q), s.x.MatMul(s.k), s.x.MatMul(s.v))
	return s, packed, multiHead{Batch: 1, Heads: 2, QK: 4}, fixture.Random("O", 8, 8)
}

// (22) Each head averages its own values, of d/k features, with its own weights. Its matrices (d, d/k) fit tokens as
// rows, x Q; for q = Q x the shapes do not match (erratum S6).
func TestNoteEq22(t *testing.T) {
	s, packed, m, _ := noteHeads()
	out := multiHeadForward(packed, m)
	for h := range m.Heads {
		q, k, v := split(m, packed, 0, h)
		weights := attentionWeights(q, k, matrix{})
		for i := range 6 {
			sum := hand.Zeros[float64](1, 4)
			for j := range 6 {
				sum = sum.Add(v.Tokens(j, j+1).Scale(weights.At(i, j)))
			}
			near(t, "h of a head", sum, out.Tokens(i, i+1).Columns(h*4, (h+1)*4))
		}
		if own := s.q.Columns(h*4, (h+1)*4); own.MatMul(tokenColumn(s.x, 0)).Err == nil {
			t.Error("Q x for Q of shape (d, d/k): got no error")
		}
	}
}

// (23) The weights of a head are a softmax of its own scores. They lack the scale of 3.4, which is √(d/k), the root of
// the width of a query, not √d as in (32) (erratum S5).
func TestNoteEq23(t *testing.T) {
	_, packed, m, _ := noteHeads()
	for h := range m.Heads {
		q, k, _ := split(m, packed, 0, h)
		scores, right := q.MatMul(k.Transpose()), attentionWeights(q, k, matrix{})
		near(t, "α at √(d/k)", scores.Scale(1/math.Sqrt(4)).Softmax(), right)
		wrongBy(t, "α without a scale", scores.Softmax(), right, [2]float64{0.405, 0.416}[h])
		wrongBy(t, "α at √d", scores.Scale(1/math.Sqrt(8)).Softmax(), right, [2]float64{0.168, 0.179}[h])
	}
}

// (24) The outputs of the heads side by side go through O. As printed their values v go through O: no attention at all
// (erratum S4). Side by side they have d features; d × d/k and d × d are not the shapes of one token.
func TestNoteEq24(t *testing.T) {
	_, packed, m, o := noteHeads()
	heads := multiHeadForward(packed, m)
	right := linearForward(heads, o.Transpose(), matrix{})
	for i := range 6 {
		q, k, v := split(m, packed, 0, 0)
		q2, k2, v2 := split(m, packed, 0, 1)
		none := matrix{}
		joined := hand.JoinTokens(
			tokenColumn(attentionForward(q, k, v, none, none), i),
			tokenColumn(attentionForward(q2, k2, v2, none, none), i),
		)
		near(t, "O [h; h]", o.MatMul(joined), tokenColumn(right, i))
	}
	wrongBy(t, "O [v; v]", packed.Columns(16, 24).MatMul(o.Transpose()), right, 1.92)
}

// (25) All scores are x Q Kᵗ xᵗ, for tokens as rows. With the Q of (8), for columns, it is Qᵗ and K (erratum S6).
func TestNoteEq25(t *testing.T) {
	s := newNote()
	scores := func(q, k matrix) matrix {
		return s.x.MatMul(q).MatMul(k.Transpose()).MatMul(s.x.Transpose())
	}
	near(t, "α of (8)", scores(s.q.Transpose(), s.k.Transpose()).Softmax(), s.alpha)
	near(
		t, "α", attentionWeights(s.x.MatMul(s.q).Scale(math.Sqrt(8)), s.x.MatMul(s.k), matrix{}),
		scores(s.q, s.k).Softmax(),
	)
	wrongBy(t, "α with the Q and K of (8)", scores(s.q, s.k).Softmax(), s.alpha, 0.728)
}

// (26) Self-attention in matrices is softmax(x Q Kᵗ xᵗ) x V.
func TestNoteEq26(t *testing.T) {
	s := newNote()
	raw := s.x.MatMul(s.q).MatMul(s.k.Transpose()).MatMul(s.x.Transpose())
	near(
		t, "h", unscaled(s.x.MatMul(s.q), s.x.MatMul(s.k), s.x.MatMul(s.v), matrix{}),
		raw.Softmax().MatMul(s.x).MatMul(s.v),
	)
}

// (32) The product of two vectors of d standard normal numbers has the deviation √d; divided by √d the scores keep the
// deviation 1 at any width. For heads of d/k features that is √(d/k) (erratum S5).
func TestNoteEq32(t *testing.T) {
	for _, d := range []int{16, 64} {
		const n = 200
		q, k := noteNormal("q", n, d), noteNormal("k", n, d)
		raw := q.MatMul(k.Transpose())
		if deviation := frobenius(raw) / n; !(math.Abs(deviation/math.Sqrt(float64(d))-1) <= 0.03) {
			t.Errorf("d = %d: got deviation %v, want about %v", d, deviation, math.Sqrt(float64(d)))
		}
		near(t, "α", attentionWeights(q, k, matrix{}), raw.Scale(1/math.Sqrt(float64(d))).Softmax())
	}
}

// noteNormal returns nearly standard normal numbers: sums of twelve uniform ones.
func noteNormal(name string, rows, cols int) matrix {
	pieces := fixture.Random(name, 12, rows*cols)
	return hand.NewMatrix(rows, cols, pieces.SumTokens().Data...)
}
