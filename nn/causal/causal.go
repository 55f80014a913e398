// Package causal detects models that look ahead. In a language model, no result for a token may depend on the later
// tokens of its text, which the model is trained to predict, or on another text of the batch. A model that violates
// this reaches an excellent loss without an error and writes nonsense. Start with Check, which decides by forward
// passes: it changes tokens and compares the bits of every result that must not change.
package causal

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Model is a model, or a layer, that Check runs. Its graph should be a throw-away sibling or have no other use: Check
// switches dropout off and restores the input, and changes nothing else.
type Model struct {
	Input      graph.Expr // (B·T) ids of Scope.Ints, or (B·T, d) numbers of Scope.Value
	Output     graph.Expr // (B·n, …), the same number of rows for each text; n is T unless Bidirectional
	Batch      int        // B texts; with one text, influence between texts cannot be detected
	Vocabulary int        // ids are 0 … Vocabulary − 1; ignored if the input is numbers

	// Bidirectional permits tokens to see later tokens of their own text, as in an encoder or a masked model. Texts
	// must still not influence one another.
	Bidirectional bool
}

// The limits of Check: the largest number of tokens of a text for which it tries every prefix, and the largest number
// of passes that it takes to find the tokens that a position sees.
const (
	mostPrefixes = 16
	mostTokens   = 64
)

// Check returns nil if the model is causal, and otherwise a *Leak. It changes the tokens of the first text from some
// position on: the results of the tokens before it, and of all other texts, must keep the same bits. Check tries every
// position in texts of up to 16 tokens. In longer texts it tries the second token, the middle, and the last token
// alone, in four forward passes. The error wraps graph.ErrNotFinite if a result is not finite, because the results can
// then not be compared.
func Check(m Model) error {
	if err := m.check(); err != nil {
		return err
	}
	restore := m.keep()
	defer restore()
	m.Output.Graph().SetTraining(false)
	p, err := newProbe(m, nil)
	if err != nil {
		return err
	}
	if err := p.base[0].Finite("the result"); err != nil {
		return err
	}
	for _, from := range m.starts() {
		changed, err := p.differs(from, m.tokens())
		if err != nil {
			return err
		}
		if changed.found {
			return locate(m, from)
		}
	}
	return nil
}

func (m Model) check() error {
	out := m.Output.Shape()
	switch {
	case m.Input.Graph() == nil || m.Output.Graph() == nil || m.Input.Graph() != m.Output.Graph():
		return errors.New("causal: Input, Output: want two expressions of the same graph")
	case m.Output.Graph().Err() != nil:
		return m.Output.Graph().Err()
	case m.Input.Ints() == nil && m.Input.Tensor().Len() == 0:
		return errors.New("causal: Input: got an expression, want an input declared by Scope.Ints or Scope.Value")
	case m.Batch < 1 || m.Input.Shape()[0]%m.Batch != 0:
		return errors.Errorf("causal: Batch: got %d, want a divisor of the %d rows of the input",
			m.Batch, m.Input.Shape()[0])
	case m.Input.Ints() != nil && m.Vocabulary < 1:
		return errors.Errorf("causal: Vocabulary: got %d, want 1 or more", m.Vocabulary)
	case len(out) == 0 || out[0]%m.Batch != 0 || !m.Bidirectional && out[0] != m.Input.Shape()[0]:
		return errors.Errorf("causal: Output: got shape %v, want a row for each of the %d of the input",
			out, m.Input.Shape()[0])
	}
	return nil
}

// tokens returns T.
func (m Model) tokens() int { return m.Input.Shape()[0] / m.Batch }

// starts returns the positions from which Check changes the first text.
func (m Model) starts() (list []int) {
	t := m.tokens()
	switch {
	case m.Bidirectional || t == 1:
		return []int{0}
	case t <= mostPrefixes:
		for from := 1; from < t; from++ {
			list = append(list, from)
		}
		return list
	}
	return []int{1, t / 2, t - 1}
}

// keep returns a function that restores the present input.
func (m Model) keep() (restore func()) {
	ids, rows := slices.Clone(m.Input.Ints()), m.Input.Tensor().Clone()
	return func() {
		copy(m.Input.Ints(), ids)
		for i := range rows.Len() {
			m.Input.Tensor().Set(i, rows.At(i))
		}
	}
}

// write draws the same input every time, with the tokens from … to−1 of the first text replaced by others.
func (m Model) write(from, to int) {
	draw, other := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 2))
	ids, rows := m.Input.Ints(), m.Input.Tensor()
	for i := range ids {
		ids[i] = draw.IntN(m.Vocabulary)
		if step := 1 + other.IntN(max(1, m.Vocabulary-1)); from <= i && i < to {
			ids[i] = (ids[i] + step) % m.Vocabulary
		}
	}
	for i := range rows.Len() {
		x, y := 4*draw.Float64()-2, 4*other.Float64()-2
		if row := i / (rows.Len() / m.Input.Shape()[0]); from <= row && row < to {
			x = y
		}
		rows.Set(i, x)
	}
}

// Perturb adds the same noise to every parameter of g every time: a layer whose weights begin at 0, such as an adapter,
// could look ahead without an effect.
func Perturb(g *graph.Graph) {
	noise := rand.New(rand.NewPCG(1, 3))
	for _, p := range g.Params() {
		t, size := p.Tensor(), 0.1
		if len(t.Shape) == 2 {
			size = 1 / math.Sqrt(float64(t.Shape[0]))
		}
		for i := range t.Len() {
			t.Set(i, t.At(i)+size*(2*noise.Float64()-1))
		}
	}
}
