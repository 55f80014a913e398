package decode

import (
	"context"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// checkTokens returns an error if a token is outside the vocabulary.
func checkTokens(tokens []int, vocabulary int) error {
	for i, id := range tokens {
		if id < 0 || id >= vocabulary {
			return errors.Errorf("token %d is %d, not in 0 … %d", i, id, vocabulary-1)
		}
	}
	return nil
}

func (s *Session) check(tokens []int) error { return checkTokens(tokens, s.context.vocabulary) }

// inRow adds the number of the row to an error if there are several.
func (s *Session) inRow(b int, err error) error {
	if len(s.rows) == 1 {
		return err
	}
	return errors.Wrapf(err, "row %d", b)
}

// checkRows returns an error unless Feed can append the rows.
func (s *Session) checkRows(rows [][]int) error {
	if s.uneven {
		return errUneven
	}
	if len(rows) != len(s.rows) {
		return errors.Errorf("got %d rows of tokens, want %d", len(rows), len(s.rows))
	}
	for b, row := range rows {
		if len(row) == 0 || len(row) != len(rows[0]) {
			return errors.Errorf("got %d tokens in row %d and %d in row 0, want the same number, 1 or more",
				len(row), b, len(rows[0]))
		}
		if err := s.check(row); err != nil {
			return s.inRow(b, err)
		}
	}
	return nil
}

// checkTexts returns an error for arguments of Generate with which no text can be generated.
func (s *Session) checkTexts(
	ctx context.Context, texts [][]int, n int, samplers []*search.Sampler, stop []int,
) error {
	if err := s.checkWriting(ctx, n, stop); err != nil {
		return err
	}
	if len(texts) != len(s.rows) || len(samplers) != len(s.rows) {
		return errors.Errorf("got %d prompts and %d samplers, want %d of each", len(texts), len(samplers), len(s.rows))
	}
	for b, sampler := range samplers {
		if err := sampler.Validate(); err != nil {
			return s.inRow(b, err)
		}
	}
	return nil
}

// checkWriting returns an error for arguments with which no text can be generated.
func (s *Session) checkWriting(ctx context.Context, n int, stop []int) error {
	switch {
	case ctx == nil:
		return errors.New("context: got nil, want one such as context.Background()")
	case n < 0:
		return errors.Errorf("tokens: got %d to write, want 0 or more", n)
	}
	return errors.Wrap(s.check(stop), "stop")
}

func (s *Session) checkPrompt(prompt []int) error {
	if len(prompt) == 0 {
		return errors.New("prompt: got 0 tokens, want 1 or more")
	}
	return s.check(prompt)
}

// checkHypotheses returns an error if hypotheses of n tokens need too much memory.
func (s *Session) checkHypotheses(n int) error {
	bytes := 8 * float64(len(s.rows)) * float64(n)
	fields := field.List{
		field.New("tokens", &n, field.Any(), ""),
		field.New("sequences", &s.context.batch, field.Any(), ""),
	}
	return fields.CheckMemory(graph.MachineMemory(), bytes, "hypotheses", "tokens", "sequences")
}
