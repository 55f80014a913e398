package search

import (
	"context"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

// Predictor continues hypotheses, Beams for each of Sources texts: hypothesis i·Beams + j is the j-th of text i.
type Predictor interface {
	Sources() int
	Beams() int
	// Step appends tokens[i] to hypothesis i and returns the logits (Sources·Beams, V) of the next token. The next call
	// overwrites them. A search begins with nil, for the logits of the first token.
	Step(tokens []int) (graph.Tensor, error)
	// Fork replaces hypothesis to by a copy of hypothesis from.
	Fork(from, to int)
	// Ends reports whether a text ends with the token.
	Ends(token int) bool
}

// Hypothesis is a text that was found, without the token that ends it.
type Hypothesis struct {
	Tokens  []int
	LogProb float64 // ln p of the tokens, and of the one that ends the text if Ended
	Ended   bool    // by such a token rather than by the limit
}

// Greedy takes the likeliest token at each step (Conti section 1.1), at most limit tokens including the one that ends
// the text. This is the best hypothesis of every text if only one can be kept, not the likeliest of all. Of equally
// likely tokens the first is taken. Only the first beam is used.
func Greedy(ctx context.Context, p Predictor, limit int) ([]Hypothesis, error) {
	if err := checkSearch(ctx, p, limit); err != nil {
		return nil, err
	}
	best := make([]Hypothesis, p.Sources())
	next := make([]int, p.Sources()*p.Beams())
	var tokens []int // nil before the first step
	for range limit {
		logits, err := step(ctx, p, tokens)
		if err != nil {
			return nil, err
		}
		open := false
		for i := range best {
			h, row := &best[i], i*p.Beams()
			if h.Ended {
				continue
			}
			token, logProb := 0, math.Inf(-1)
			for v, lp := range logProbs(logits.Row(row)) {
				if lp > logProb {
					token, logProb = v, lp
				}
			}
			h.LogProb += logProb
			if next[row] = token; p.Ends(token) {
				h.Ended = true
				continue
			}
			h.Tokens = append(h.Tokens, token)
			open = true
		}
		if !open {
			break
		}
		tokens = next
	}
	return best, nil
}

// step appends the tokens, which are nil at first.
func step(ctx context.Context, p Predictor, tokens []int) (graph.Tensor, error) {
	if err := ctx.Err(); err != nil {
		return graph.Tensor{}, errors.Wrap(err, "decode")
	}
	logits, err := p.Step(tokens)
	if err != nil {
		return logits, errors.Wrap(err, "decode")
	}
	return logits, checkLogits(logits, p.Sources()*p.Beams())
}

// logProbs returns ln softmax of a row of logits.
func logProbs(row graph.Tensor) []float64 {
	lp := row.Floats()
	top, sum := math.Inf(-1), 0.0
	for _, v := range lp {
		top = max(top, v)
	}
	for _, v := range lp {
		sum += elementary.Exp(v - top)
	}
	for i := range lp {
		lp[i] -= top + elementary.Log(sum)
	}
	return lp
}
