package gpt

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Generate yields how the model goes on with the prompt, at least one token: n tokens as the sampler draws them, each as
// the text that it stands for. It stops early, with an error, when ctx ends. It is a Decoder and a tokenizer in one: who
// writes more than one text keeps a Decoder.
func (m *Model) Generate(ctx context.Context, tok text.Tokenizer, prompt string, n int, s *Sampler) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if tok == nil {
			yield("", errors.New("generate: no tokenizer (nil)"))
			return
		}
		ids, err := tok.Encode(prompt)
		if err != nil {
			yield("", errors.Wrap(err, "generate: prompt"))
			return
		}
		d, err := NewDecoder(m)
		if err != nil {
			yield("", err)
			return
		}
		for id, err := range d.Generate(ctx, ids, n, s) {
			word := ""
			if err == nil {
				word, err = tok.Decode([]int{id})
			}
			if !yield(word, err) || err != nil {
				return
			}
		}
	}
}
