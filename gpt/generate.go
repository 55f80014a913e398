package gpt

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Generate yields how the model goes on with the prompt, at least one token, up to n tokens or the first stop string:
// the text of what the sampler draws, as text.Stream has it. It stops early, with an error, when ctx ends. It is a
// Decoder and a tokenizer in one: who writes more than one text keeps a Decoder.
func (m *Model) Generate(ctx context.Context, tok text.Tokenizer, prompt string, n int, s *Sampler, stop ...string) iter.Seq2[string, error] {
	ids := func(yield func(int, error) bool) {
		prompt, err := tok.Encode(prompt)
		if err != nil {
			yield(0, errors.Wrap(err, "generate: prompt"))
			return
		}
		d, err := NewDecoder(m)
		if err != nil {
			yield(0, err)
			return
		}
		d.Generate(ctx, prompt, n, s)(yield)
	}
	return text.Stream(tok, ids, stop...)
}
