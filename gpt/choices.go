package gpt

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Ranking says how likely a model finds the choices of a question: three numbers for each of them, in nats. The less
// likely a choice, the larger they are.
type Ranking struct {
	Nats     []float64 // −ln P(choice | prompt)
	PerToken []float64 // the same, divided by the number of the choice's tokens
	PerByte  []float64 // and by the number of its bytes, which does not depend on the tokenizer
	Cut      int       // the number of the prompt's first tokens that were cut for the longest choice
}

// Likeliest returns the index of the smallest of the numbers of a Ranking, the first of equal ones.
func Likeliest(nats []float64) (choice int) {
	for i, x := range nats {
		if x < nats[choice] {
			choice = i
		}
	}
	return choice
}

// Ranker ranks the choices of questions by their likelihood under a model's weights as they are then.
type Ranker struct {
	m *Model
	p *graph.Program // computes m.Loss
}

// NewRanker returns a Ranker for m, which must not have the loss of Hooks.
func NewRanker(m *Model) (*Ranker, error) {
	if err := m.Check(); err != nil {
		return nil, errors.Wrap(err, "ranker")
	}
	if m.Config.Hooks.Loss != nil {
		return nil, errors.New("ranker: loss: got the loss of Hooks, want the cross entropy")
	}
	p, err := graph.Compile(m.Loss)
	return &Ranker{m, p}, errors.Wrap(err, "ranker")
}

// Rank returns how likely the choices of a question are. It predicts the tokens of each choice after the prompt, in a
// forward pass of its own. If a prompt is too long for the context, its first tokens are cut. A choice that does not
// fit is an error, and so is a token outside the vocabulary.
func (r *Ranker) Rank(q text.Question) (ranking Ranking, err error) {
	if r == nil || r.p == nil {
		return ranking, errors.New("ranker: got none, want one from NewRanker")
	}
	if n := len(q.Choices); q.Answer < 0 || q.Answer >= n {
		return ranking, errors.Errorf("ranker: answer: got %d, want the index of one of %d choices", q.Answer, n)
	}
	for i, c := range q.Choices {
		nats, cut, err := r.nats(c)
		if err != nil {
			return Ranking{}, errors.WithMessagef(err, "ranker: choice %d", i)
		}
		ranking.Cut = max(ranking.Cut, cut)
		ranking.Nats = append(ranking.Nats, nats)
		ranking.PerToken = append(ranking.PerToken, nats/float64(len(c.Tokens)-c.First))
		ranking.PerByte = append(ranking.PerByte, nats/float64(c.Bytes))
	}
	return ranking, nil
}

// nats returns −ln P(choice | prompt) and the number of tokens that were cut.
func (r *Ranker) nats(c text.Choice) (nats float64, cut int, err error) {
	if c.Bytes < 1 {
		return 0, 0, errors.Errorf("got %d bytes, want at least 1", c.Bytes)
	}
	size, x, y := r.m.Config.BlockSize, r.m.Tokens.Ints(), r.m.Targets.Ints()
	if cut, err = c.Row(x[:size], y[:size]); err != nil {
		return 0, 0, err
	}
	clear(x[size:])
	for i := size; i < len(y); i++ {
		y[i] = text.Ignore
	}
	if err := r.p.Run(); err != nil {
		return 0, 0, err
	}
	nats = r.p.Loss() * float64(len(c.Tokens)-c.First)
	if math.IsNaN(nats) || math.IsInf(nats, 0) {
		return 0, 0, errors.Errorf("got a loss of %g, want a finite one", nats)
	}
	return nats, cut, nil
}
