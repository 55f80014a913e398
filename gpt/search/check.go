package search

import (
	"context"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// hypothesisSize is the number of 4-byte numbers that a hypothesis takes without its tokens.
const hypothesisSize = 32

// checkSearch returns an error before anything is allocated if the arguments are invalid. A Predictor has no memory
// limit of its own.
func checkSearch(ctx context.Context, p Predictor, limit int) error {
	switch {
	case ctx == nil:
		return errors.New("decode: context: got nil, want one such as context.Background()")
	case p == nil:
		return errors.New("decode: predictor: got nil, want one such as a Translator")
	case limit < 0:
		return errors.Errorf("decode: limit: got %d tokens, want 0 or more", limit)
	}
	sources, beams := p.Sources(), p.Beams()
	if sources < 1 || beams < 1 {
		return errors.Errorf("decode: got %d sources and %d beams, want 1 or more of each", sources, beams)
	}
	fields := field.List{
		field.New("sources", &sources, field.Any(), ""), field.New("beams", &beams, field.Any(), ""),
	}
	bytes := 4 * hypothesisSize * float64(sources) * float64(beams)
	err := fields.CheckMemory(graph.MachineMemory(), bytes, "hypotheses", "sources", "beams")
	return errors.Wrap(err, "decode")
}

// checkLogits returns an error unless there is a row of logits for each hypothesis.
func checkLogits(logits graph.Tensor, rows int) error {
	if s := logits.Shape; len(s) != 2 || s[0] != rows || s[1] < 1 || logits.Len() != s[0]*s[1] {
		return errors.Errorf("decode: got %d logits of shape %v, want a row for each of %d hypotheses",
			logits.Len(), s, rows)
	}
	return logits.Finite("logits")
}
