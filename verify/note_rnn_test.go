package verify

import (
	"slices"
	"testing"
)

// noteStates is (4) with a tanh for σ: the states h₁ … h_n as rows, for W and U that multiply columns.
func noteStates[T Number](w, u, x, start Matrix[T]) Matrix[T] {
	states := make([]Matrix[T], x.Rows)
	before := start
	for t := range states {
		before = w.MatMul(before).Add(u.MatMul(tokenColumn(x, t))).Tanh()
		states[t] = before.Transpose()
	}
	return JoinTokens(states...)
}

type noteRNN struct{ w, u, x, start, h Matrix[float64] }

func newNoteRNN() noteRNN {
	e := noteRNN{w: Random("W", 8, 8), u: Random("U", 8, 8), x: Random("x", 6, 8), start: Random("h0", 8, 1)}
	e.h = noteStates(e.w, e.u, e.x, e.start)
	return e
}

// fromZero are the states by hand, which begin with h₀ = 0; tokens are rows there.
func (e noteRNN) fromZero() Matrix[float64] {
	return ElmanForward(e.x, e.u.Transpose(), e.w.Transpose(), Matrix[float64]{}, 1)
}

// (4) A state is a function of the state before and of its own token. The Δ of a state therefore goes to both: Wᵗ and
// Uᵗ of Δ ∘ (1 − h²), from the last token back to the first.
func TestNoteEq04(t *testing.T) {
	e, delta := newNoteRNN(), Random("delta", 6, 8)
	truth := witness(t, func(z Parameters[complex128]) complexMatrix {
		return noteStates(z["w"], z["u"], z["x"], z["start"])
	}, Parameters[float64]{"w": e.w, "u": e.u, "x": e.x, "start": e.start}, delta)
	carried, dx := Zeros[float64](8, 1), make([]Matrix[float64], 6)
	dw, du := Zeros[float64](8, 8), Zeros[float64](8, 8)
	for i := 5; i >= 0; i-- {
		before := e.start
		if i > 0 {
			before = tokenColumn(e.h, i-1)
		}
		a := tokenColumn(delta, i).Add(carried).Mul(tokenColumn(e.h, i).Square().Scale(-1).Shift(1))
		dw, du = dw.Add(a.MatMul(before.Transpose())), du.Add(a.MatMul(e.x.Tokens(i, i+1)))
		dx[i], carried = e.u.Transpose().MatMul(a).Transpose(), e.w.Transpose().MatMul(a)
	}
	near(t, "Δx", JoinTokens(dx...), truth["x"])
	near(t, "Δh₀", carried, truth["start"])
	near(t, "∂W", dw, truth["w"])
	near(t, "∂U", du, truth["u"])

	zero := e.fromZero()
	truth = witness(t, func(z Parameters[complex128]) complexMatrix {
		return noteStates(z["w"], z["u"], z["x"], Zeros[complex128](8, 1))
	}, Parameters[float64]{"w": e.w, "u": e.u, "x": e.x}, delta)
	near(t, "h by hand, h₀ = 0", zero, noteStates(e.w, e.u, e.x, Zeros[float64](8, 1)))
	byX, byU, byW, _ := ElmanBackward(e.x, e.u.Transpose(), e.w.Transpose(), Matrix[float64]{}, 1, delta)
	near(t, "Δx by hand", byX, truth["x"])
	near(t, "∂U by hand", byU.Transpose(), truth["u"])
	near(t, "∂W by hand", byW.Transpose(), truth["w"])
}

// (5) The second state needs the first one, and nothing else of the first token.
func TestNoteEq05(t *testing.T) {
	e := newNoteRNN()
	second := noteStates(e.w, e.u, e.x.Tokens(1, 2), tokenColumn(e.h, 0))
	near(t, "h₂", second, e.h.Tokens(1, 2))
	zero := e.fromZero()
	near(t, "h₂ by hand", zero.Tokens(1, 2), noteStates(e.w, e.u, e.x.Tokens(1, 2), tokenColumn(zero, 0)))
	other := noteStates(e.w, e.u, e.x.Tokens(0, 2), e.start.Scale(2))
	if slices.Equal(other.Tokens(1, 2).Data, second.Data) {
		t.Error("h₂ does not depend on h₀")
	}
}

// (6) Written out, h₂ nests two of the functions: state t is reached through t of them, one after the other.
func TestNoteEq06(t *testing.T) {
	e := newNoteRNN()
	nested := func(start Matrix[float64]) Matrix[float64] {
		inner := e.w.MatMul(start).Add(e.u.MatMul(tokenColumn(e.x, 0))).Tanh()
		return e.w.MatMul(inner).Add(e.u.MatMul(tokenColumn(e.x, 1))).Tanh()
	}
	near(t, "h₂", nested(e.start), tokenColumn(e.h, 1))
	near(t, "h₂ by hand", tokenColumn(e.fromZero(), 1), nested(Zeros[float64](8, 1)))
}

// (18) A word is predicted from the words before it: row t−1 of the logits does not change by a bit with word t or
// any later one, and does with each one before.
func TestNoteEq18(t *testing.T) {
	s := newStudy(t)
	for changed := range s.Context {
		tokens := slices.Clone(s.Tokens)
		tokens[changed] = (tokens[changed] + 1) % fixtureVocabulary
		moved, err := GPTForward(s.GPT, s.Parameters, tokens, s.Targets)
		if err != nil {
			t.Fatal(err)
		}
		for row := range s.Context {
			same := slices.Equal(moved.Logits.Tokens(row, row+1).Data, s.hand.Logits.Tokens(row, row+1).Data)
			if same != (row < changed) {
				t.Errorf("row %d after a change of word %d: same %v", row, changed, same)
			}
		}
	}
}

// (19) The logits of a word are the state before it times the embeddings as columns, E of the shape (d, |V|), which
// is the head that shares its weights with them.
func TestNoteEq19(t *testing.T) {
	e, embedding := newNoteRNN(), Random("E", 8, 11)
	logits := LinearForward(e.h, embedding, Matrix[float64]{})
	want := Zeros[float64](6, 11)
	for i := range 6 {
		for word := range 11 {
			want.Data[i*11+word] = dot(tokenColumn(e.h, i), embedding.Columns(word, word+1))
		}
	}
	near(t, "h E", logits, want)
	near(t, "Σ p", logits.Softmax().SumFeatures(), ones(6, 1))
	near(t, "E wᵢ", EmbeddingForward(embedding.Transpose(), []int{3}).Transpose(), embedding.Columns(3, 4))
}

// (20) The state that predicts word t has seen the words up to t−1 and no other: its derivatives by the later ones
// are exactly 0.
func TestNoteEq20(t *testing.T) {
	e := newNoteRNN()
	for i := 1; i < 6; i++ {
		delta := Zeros[float64](6, 8)
		copy(delta.Data[(i-1)*8:i*8], Random("delta", 1, 8).Data)
		dx := witness(t, func(z Parameters[complex128]) complexMatrix {
			return noteStates(lift(e.w), lift(e.u), z["x"], lift(e.start))
		}, Parameters[float64]{"x": e.x}, delta)["x"]
		for j := range 6 {
			if seen := frobenius(dx.Tokens(j, j+1)) > 0; seen != (j <= i-1) {
				t.Errorf("word %d: depends on word %d: %v", i+1, j+1, seen)
			}
		}
	}
}
