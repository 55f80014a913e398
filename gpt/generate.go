package gpt

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Generate yields the model's continuation of the prompt, which must have at least one token, up to n tokens or the
// first stop string. The text is that of the sampler's tokens, as text.Stream returns it. Generate stops early, with an
// error, when ctx ends. It builds a decoder for each call: to generate several texts, keep one from NewDecoder
// instead.
func (m *Model) Generate(
	ctx context.Context, tok text.Tokenizer, prompt string, n int, s *search.Sampler, stop ...string,
) iter.Seq2[string, error] {
	ids := func(yield func(int, error) bool) {
		prompt, err := tok.Encode(prompt)
		if err != nil {
			yield(0, errors.Wrap(err, "generate: prompt"))
			return
		}
		d, err := NewDecoder(m, 1)
		if err != nil {
			yield(0, err)
			return
		}
		for token, err := range d.Generate(ctx, [][]int{prompt}, n, []*search.Sampler{s}) {
			if !yield(token.ID, err) {
				return
			}
		}
	}
	return text.Stream(tok, ids, stop...)
}
