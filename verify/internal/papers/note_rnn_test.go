package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (1) A word is drawn from the softmax of a vector with a number for each word of the vocabulary: all of them can
// occur, each with the frequency of its probability.
func TestNoteEq01(t *testing.T) {
	s := newStudy(t)
	p := s.hand.Logits.Tokens(s.Context-1, s.Context).Softmax()
	near(t, "Σ p", p.Sum(), ones(1, 1))
	if p.Cols != fixture.Vocabulary || frobenius(p.Step().Shift(-1)) != 0 {
		t.Errorf("got %v, want %d probabilities above 0", p.Data, fixture.Vocabulary)
	}
	const draws = 20000
	counts, uniform := hand.Zeros[float64](1, p.Cols), fixture.Random("draws", 1, draws)
	for _, u := range uniform.Data {
		word, rest := 0, u+0.5
		for word < p.Cols-1 && rest >= p.Data[word] {
			rest -= p.Data[word]
			word++
		}
		counts.Data[word] += 1. / draws
	}
	for i, share := range counts.Data {
		if !(math.Abs(share-p.Data[i]) <= 4*math.Sqrt(p.Data[i]/draws)) {
			t.Errorf("word %d: got a share of %v, want about %v", i, share, p.Data[i])
		}
	}
}

// (2) The softmax of a matrix normalises each of its rows.
func TestNoteEq02(t *testing.T) {
	a := fixture.Random("A", 5, 7).Scale(6)
	want := hand.Zeros[float64](5, 7)
	for i := range 5 {
		sum := 0.0
		for j := range 7 {
			sum += math.Exp(a.At(i, j))
		}
		for j := range 7 {
			want.Data[i*7+j] = math.Exp(a.At(i, j)) / sum
		}
	}
	near(t, "softmax(A)", a.Softmax(), want)
}

// (3) The softmax of a tensor with more axes runs over the last of them: over each row of each of its matrices.
func TestNoteEq03(t *testing.T) {
	const m, l, d = 3, 5, 7
	b, want := fixture.Random("B", m, l*d).Scale(6), hand.Zeros[float64](m, l*d)
	var stacked []matrix
	for q := range m {
		stacked = append(stacked, hand.NewMatrix(l, d, b.Data[q*l*d:(q+1)*l*d]...))
		for i := range l {
			sum := 0.0
			for j := range d {
				sum += math.Exp(b.At(q, i*d+j))
			}
			for j := range d {
				want.Data[(q*l+i)*d+j] = math.Exp(b.At(q, i*d+j)) / sum
			}
		}
	}
	near(t, "softmax(B)", hand.JoinTokens(stacked...).Softmax(), hand.NewMatrix(m*l, d, want.Data...))
}

// noteStates returns (4) with a tanh for σ: the states h₁ … h_n as rows, for W and U that multiply columns.
func noteStates[T hand.Number](w, u, x, start hand.Matrix[T]) hand.Matrix[T] {
	states := make([]hand.Matrix[T], x.Rows)
	before := start
	for t := range states {
		before = w.MatMul(before).Add(u.MatMul(tokenColumn(x, t))).Tanh()
		states[t] = before.Transpose()
	}
	return hand.JoinTokens(states...)
}

type noteRNN struct{ w, u, x, start, h matrix }

func newNoteRNN() noteRNN {
	e := noteRNN{
		w: fixture.Random("W", 8, 8), u: fixture.Random("U", 8, 8), x: fixture.Random("x", 6, 8),
		start: fixture.Random("h0", 8, 1),
	}
	e.h = noteStates(e.w, e.u, e.x, e.start)
	return e
}

// fromZero returns the states by hand, which begin with h₀ = 0; tokens are rows there.
func (e noteRNN) fromZero() matrix {
	return elmanForward(e.x, e.u.Transpose(), e.w.Transpose(), matrix{}, 1)
}

// (4) A state is a function of the previous state and of its own token. The Δ of a state therefore goes to both: Wᵗ and
// Uᵗ of Δ ∘ (1 − h²), from the last token back to the first.
func TestNoteEq04(t *testing.T) {
	e, delta := newNoteRNN(), fixture.Random("delta", 6, 8)
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		return noteStates(z["w"], z["u"], z["x"], z["start"])
	}, parameters{"w": e.w, "u": e.u, "x": e.x, "start": e.start}, delta)
	carried, dx := hand.Zeros[float64](8, 1), make([]matrix, 6)
	dw, du := hand.Zeros[float64](8, 8), hand.Zeros[float64](8, 8)
	for i := 5; i >= 0; i-- {
		before := e.start
		if i > 0 {
			before = tokenColumn(e.h, i-1)
		}
		a := tokenColumn(delta, i).Add(carried).Mul(tokenColumn(e.h, i).Square().Scale(-1).Shift(1))
		dw, du = dw.Add(a.MatMul(before.Transpose())), du.Add(a.MatMul(e.x.Tokens(i, i+1)))
		dx[i], carried = e.u.Transpose().MatMul(a).Transpose(), e.w.Transpose().MatMul(a)
	}
	near(t, "Δx", hand.JoinTokens(dx...), truth["x"])
	near(t, "Δh₀", carried, truth["start"])
	near(t, "∂W", dw, truth["w"])
	near(t, "∂U", du, truth["u"])

	zero := e.fromZero()
	truth = complexStep(t, func(z complexParameters) complexMatrix {
		return noteStates(z["w"], z["u"], z["x"], hand.Zeros[complex128](8, 1))
	}, parameters{"w": e.w, "u": e.u, "x": e.x}, delta)
	near(t, "h by hand, h₀ = 0", zero, noteStates(e.w, e.u, e.x, hand.Zeros[float64](8, 1)))
	byX, byU, byW, _ := elmanBackward(e.x, e.u.Transpose(), e.w.Transpose(), matrix{}, 1, delta)
	near(t, "Δx by hand", byX, truth["x"])
	near(t, "∂U by hand", byU.Transpose(), truth["u"])
	near(t, "∂W by hand", byW.Transpose(), truth["w"])
}

// (5) The second state depends on the first token only through the first state.
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
	nested := func(start matrix) matrix {
		inner := e.w.MatMul(start).Add(e.u.MatMul(tokenColumn(e.x, 0))).Tanh()
		return e.w.MatMul(inner).Add(e.u.MatMul(tokenColumn(e.x, 1))).Tanh()
	}
	near(t, "h₂", nested(e.start), tokenColumn(e.h, 1))
	near(t, "h₂ by hand", tokenColumn(e.fromZero(), 1), nested(hand.Zeros[float64](8, 1)))
}

// (18) A word is predicted from the words before it: row t−1 of the logits changes no bit with word t or any later one,
// and changes with each earlier one.
func TestNoteEq18(t *testing.T) {
	s := newStudy(t)
	for changed := range s.Context {
		tokens := slices.Clone(s.Tokens)
		tokens[changed] = (tokens[changed] + 1) % fixture.Vocabulary
		moved, err := gptForward(s.Plan, s.Parameters, tokens, s.Targets)
		if err != nil {
			t.Fatal(err)
		}
		for row := range s.Context {
			got, want := moved.Logits.Tokens(row, row+1), s.hand.Logits.Tokens(row, row+1)
			same := slices.Equal(got.Data, want.Data)
			if row < changed {
				near(t, "a row before the change", got, want)
			}
			if same != (row < changed) {
				t.Errorf("row %d after a change of word %d: same %v", row, changed, same)
			}
		}
	}
}

// (19) The logits of a word are the previous state times the embeddings as columns, E of shape (d, |V|): the head
// shares its weights with the embeddings.
func TestNoteEq19(t *testing.T) {
	e, embedding := newNoteRNN(), fixture.Random("E", 8, 11)
	logits := linearForward(e.h, embedding, matrix{})
	want := hand.Zeros[float64](6, 11)
	for i := range 6 {
		for word := range 11 {
			want.Data[i*11+word] = dot(tokenColumn(e.h, i), embedding.Columns(word, word+1))
		}
	}
	near(t, "h E", logits, want)
	near(t, "Σ p", logits.Softmax().Sum(), ones(6, 1))
	near(t, "E wᵢ", embeddingForward(embedding.Transpose(), []int{3}).Transpose(), embedding.Columns(3, 4))
}

// (20) The state that predicts word t depends only on the words up to t−1: its derivatives by the later ones are
// exactly 0.
func TestNoteEq20(t *testing.T) {
	e := newNoteRNN()
	for i := 1; i < 6; i++ {
		delta := hand.Zeros[float64](6, 8)
		copy(delta.Data[(i-1)*8:i*8], fixture.Random("delta", 1, 8).Data)
		dx := complexStep(t, func(z complexParameters) complexMatrix {
			return noteStates(lift(e.w), lift(e.u), z["x"], lift(e.start))
		}, parameters{"x": e.x}, delta)["x"]
		for j := range 6 {
			seen := frobenius(dx.Tokens(j, j+1)) > 0
			if j > i-1 {
				near(t, "∂ by a later word", dx.Tokens(j, j+1), hand.Zeros[float64](1, dx.Cols))
			}
			if seen != (j <= i-1) {
				t.Errorf("word %d: depends on word %d: %v", i+1, j+1, seen)
			}
		}
	}
}
