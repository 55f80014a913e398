package papers

import (
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// TestNoteEqNN tests equation (NN) of the CS 224n Note 10, "Self-Attention & Transformers" (Winter 2023). Its section 2
// has tokens as columns, q = Q x, its section 3 as rows, x Q, which for the same Q is the transposed matrix (erratum
// S6). Where the printed form is wrong or can be misread, a test shows by how much and names the erratum.

// note is the head of section 2, with n = 6, d = 8: square matrices without biases, no scale, no mask.
type note struct {
	x, q, k, v       matrix // tokens, and Q, K, V for columns
	qs, ks, vs       matrix // queries, keys and values, as rows
	scores, alpha, h matrix
}

func newNote() note {
	s := note{
		x: fixture.Random("x", 6, 8).Scale(4), q: fixture.Random("Q", 8, 8), k: fixture.Random("K", 8, 8),
		v: fixture.Random("V", 8, 8),
	}
	s.qs, s.ks, s.vs = s.x.MatMul(s.q.Transpose()), s.x.MatMul(s.k.Transpose()), s.x.MatMul(s.v.Transpose())
	s.scores = s.qs.MatMul(s.ks.Transpose())
	s.alpha = s.scores.Softmax()
	s.h = s.alpha.MatMul(s.vs)
	return s
}

// tokenColumn returns token i, a row, as a column.
func tokenColumn[T hand.Number](x hand.Matrix[T], i int) hand.Matrix[T] {
	return x.Tokens(i, i+1).Transpose()
}
