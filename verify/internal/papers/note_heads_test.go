package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// noteHeads returns k = 2 heads of d/k = 4 for tokens as rows, d = 8, side by side: Q, K, V and O are (d, d).
func noteHeads() (s note, packed matrix, m multiHead, o matrix) {
	s = newNote()
	packed = hand.JoinColumns(s.x.MatMul(s.q), s.x.MatMul(s.k), s.x.MatMul(s.v))
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
		joined := hand.JoinTokens(tokenColumn(attentionForward(q, k, v, none, none), i), tokenColumn(attentionForward(q2, k2, v2, none, none), i))
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
	near(t, "α", attentionWeights(s.x.MatMul(s.q).Scale(math.Sqrt(8)), s.x.MatMul(s.k), matrix{}), scores(s.q, s.k).Softmax())
	wrongBy(t, "α with the Q and K of (8)", scores(s.q, s.k).Softmax(), s.alpha, 0.728)
}

// (26) Self-attention in matrices is softmax(x Q Kᵗ xᵗ) x V.
func TestNoteEq26(t *testing.T) {
	s := newNote()
	raw := s.x.MatMul(s.q).MatMul(s.k.Transpose()).MatMul(s.x.Transpose())
	near(t, "h", unscaled(s.x.MatMul(s.q), s.x.MatMul(s.k), s.x.MatMul(s.v), matrix{}), raw.Softmax().MatMul(s.x).MatMul(s.v))
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
