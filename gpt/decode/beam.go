package decode

import (
	"context"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Beam searches for the likeliest continuation of the prompt by at most n tokens, with B hypotheses. It returns them
// without the prompt, best first. search.Beam does the search, and ends a text with any of the stop tokens. Beam first
// discards the texts. Afterwards the hypotheses cannot be continued: call Reset or Generate.
func (s *Session) Beam(
	ctx context.Context, prompt []int, n int, rank search.Rank, stop ...int,
) ([]search.Hypothesis, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.busy.Unlock()
	for _, err := range []error{s.checkWriting(ctx, n, stop), s.checkPrompt(prompt), s.checkHypotheses(n)} {
		if err != nil {
			return nil, errors.Wrap(err, "beam")
		}
	}
	s.reset()
	s.uneven = true
	found, err := search.Beam(ctx, &hypotheses{window: s.context, prompt: prompt, stop: stop}, n, rank)
	if err != nil {
		return nil, errors.Wrap(err, "beam")
	}
	return found[0], nil
}

// hypotheses makes the texts of a window a search.Predictor of one text, which begins with the prompt.
type hypotheses struct {
	*window
	prompt []int
	stop   []int
	failed error // of an earlier Fork
}

func (h *hypotheses) Sources() int        { return 1 }
func (h *hypotheses) Beams() int          { return h.batch }
func (h *hypotheses) Ends(token int) bool { return slices.Contains(h.stop, token) }

// Step appends the tokens, or at the beginning, where they are nil, the prompt.
func (h *hypotheses) Step(tokens []int) (graph.Tensor, error) {
	if h.failed != nil {
		return graph.Tensor{}, h.failed
	}
	if tokens == nil {
		for _, id := range h.prompt {
			tokens = append(tokens, slices.Repeat([]int{id}, h.batch)...)
		}
	}
	logits, err := h.feed(tokens)
	return search.First(logits, h.choices), err
}

// Fork copies the caches of the layers and the tokens, whose newer half is fed again when the context is full.
func (h *hypotheses) Fork(from, to int) {
	for t := 0; t < len(h.tokens); t += h.batch {
		h.tokens[t+to] = h.tokens[t+from]
	}
	if err := h.caches.Fork(from, to); err != nil {
		h.failed = err
	}
}
