package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// noteEncoder returns a block without a mask, on tokens without positions.
func noteEncoder(t *testing.T, x matrix) matrix {
	t.Helper()
	e := newContiBlock()
	e.Eps = 1e-5
	block, err := blockForward(e.Plan, e.p, 0, x)
	if err != nil {
		t.Fatal(err)
	}
	return block.A10
}

// (33) The encoder has no mask: every output depends on every token, those after it included. Without positions, tokens
// in another order give the same outputs in that order.
func TestNoteEq33(t *testing.T) {
	x := newNote().x
	h := noteEncoder(t, x)
	for j := range 6 {
		changed := x.Add(oneHotRows([]int{j}, 6).Transpose().MatMul(fixture.Random("change", 1, 8)))
		moved := noteEncoder(t, changed).Sub(h).Square().SumFeatures()
		for i, v := range moved.Data {
			if !(v > 0) {
				t.Errorf("output %d does not depend on token %d", i, j)
			}
		}
	}
	p := permutation(3, 1, 5, 0, 2, 4)
	near(t, "encoder of shuffled tokens", noteEncoder(t, p.MatMul(x)), p.MatMul(h))
}

// noteCross returns a decoder's m = 4 tokens and an encoder's n = 6, and the results of (34) to (36) for them.
func noteCross(t *testing.T) (s note, y, h, q, k, v matrix) {
	t.Helper()
	s = newNote()
	y, h = fixture.Random("y", 4, 8).Scale(4), noteEncoder(t, s.x)
	return s, y, h, y.MatMul(s.q.Transpose()), h.MatMul(s.k.Transpose()), h.MatMul(s.v.Transpose())
}

// cross returns the matrices of (34) to (36) for tokens as rows, with one head and no output projection.
func (s note) cross() (crossParameters[float64], multiHead) {
	weights := crossParameters[float64]{Wq: s.q.Transpose(), Wkv: hand.JoinColumns(s.k.Transpose(), s.v.Transpose()), Wo: permutation(natural(8)...)}
	return weights, multiHead{Batch: 1, Heads: 1, QK: 8}
}

// (34) The queries come from the m tokens of the decoder, and so does the number of outputs. (Both sequences have the
// length m in the text above, erratum S9.)
func TestNoteEq34(t *testing.T) {
	s, y, h, q, k, v := noteCross(t)
	out := unscaled(q, k, v, matrix{})
	if out.Rows != 4 || out.Cols != 8 {
		t.Errorf("got (%d, %d), want a row for each query, (4, 8)", out.Rows, out.Cols)
	}
	weights, m := s.cross()
	near(t, "by hand", crossAttentionForward(y.Scale(math.Sqrt(8)), h, weights, m), out)
	for i := range 4 {
		near(t, "q", s.q.MatMul(tokenColumn(y, i)), tokenColumn(q, i))
		near(t, "h of one query alone", unscaled(q.Tokens(i, i+1), k, v, matrix{}), out.Tokens(i, i+1))
	}
}

// (35) The keys come from the n tokens of the encoder: there are n weights for each of m queries.
func TestNoteEq35(t *testing.T) {
	s, y, h, q, k, v := noteCross(t)
	weights := attentionWeights(q, k, matrix{})
	if weights.Rows != 4 || weights.Cols != 6 {
		t.Errorf("got (%d, %d) weights, want (m, n) = (4, 6)", weights.Rows, weights.Cols)
	}
	near(t, "Σ α", weights.SumFeatures(), ones(4, 1))
	numbers, m := s.cross()
	near(t, "h by hand", crossAttentionForward(y, h, numbers, m), weights.MatMul(v))
	for j := range 6 {
		near(t, "k", s.k.MatMul(tokenColumn(h, j)), tokenColumn(k, j))
	}
}

// (36) The values come from the encoder, like the keys, and the Δ at its output is the sum of both.
func TestNoteEq36(t *testing.T) {
	s, y, h, q, k, v := noteCross(t)
	for j := range 6 {
		near(t, "v", s.v.MatMul(tokenColumn(h, j)), tokenColumn(v, j))
	}
	delta, none := fixture.Random("delta", 4, 8), matrix{}
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		q, k, v := z["y"].MatMul(lift(s.q).Transpose()), z["h"].MatMul(lift(s.k).Transpose()), z["h"].MatMul(lift(s.v).Transpose())
		return attentionForward(q, k, v, none, none)
	}, parameters{"y": y, "h": h}, delta)
	dq, dk, dv := attentionBackward(q, k, v, none, none, delta)
	near(t, "Δy", dq.MatMul(s.q), truth["y"])
	weights, m := s.cross()
	near(t, "h by hand", crossAttentionForward(y, h, weights, m), attentionForward(q, k, v, none, none))
	dy, dh, _ := crossAttentionBackward(y, h, weights, m, delta)
	near(t, "Δy by hand", dy, truth["y"])
	near(t, "Δh by hand", dh, truth["h"])
	near(t, "Δh", dk.MatMul(s.k).Add(dv.MatMul(s.v)), truth["h"])
}
