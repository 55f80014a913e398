// Package base contains what the examples on trained models share: loading checkpoints, a short training if there is
// none, and writing text.
package base

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Open builds the model of files on an empty Graph, and opens its tokenizer.
func Open(g *graph.Graph, s gpt.Source) (*gpt.Model, text.Tokenizer, error) {
	tok, err := Tokenizer(s.Checkpoint)
	if err != nil {
		return nil, nil, err
	}
	s.Config.DrawnTokens = tok.Size()
	m, err := s.Model(g)
	return m, tok, err
}

// Tokenizer opens the tokenizer of a checkpoint: of one of text.Kinds, or of byte pairs.
func Tokenizer(cp *checkpoint.Checkpoint) (text.Tokenizer, error) {
	return gpt.LoadTokenizer(cp, bpe.Kind())
}

// Prompt returns the tokens of the text of -prompt, at least one.
func Prompt(tok text.Tokenizer, prompt string) ([]int, error) { return CheckPrompt(tok.Encode(prompt)) }

// CheckPrompt returns the tokens of -prompt, or an error if there are none.
func CheckPrompt(ids []int, err error) ([]int, error) {
	if err == nil && len(ids) == 0 {
		err = errors.New("empty; give at least one character, such as a newline")
	}
	return ids, errors.Wrap(err, "-prompt")
}

// Write continues the prompt with a model by n tokens, or up to one of the stop strings, and prints the text as it
// comes. It returns the number of tokens drawn and their number per second.
func Write(
	ctx context.Context, w io.Writer, m *gpt.Model, tok text.Tokenizer,
	prompt string, n int, s *search.Sampler, stop ...string,
) (drawn int, perSecond float64, err error) {
	ids, err := Prompt(tok, prompt)
	if err != nil {
		return 0, 0, err
	}
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		return 0, 0, err
	}
	fmt.Fprint(w, prompt)
	start := time.Now()
	counted := func(yield func(int, error) bool) {
		for token, err := range d.Generate(ctx, [][]int{ids}, n, []*search.Sampler{s}) {
			if drawn++; !yield(token.ID, err) {
				return
			}
		}
	}
	for piece, err := range text.Stream(tok, counted, stop...) {
		if err != nil {
			return 0, 0, program.Cause(ctx, err)
		}
		fmt.Fprint(w, piece)
	}
	return drawn, float64(drawn) / time.Since(start).Seconds(), nil
}
