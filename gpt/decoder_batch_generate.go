package gpt

import (
	"context"
	"iter"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pkg/errors"
)

// Token is the next token ID of text Row in a batch.
type Token struct{ Row, ID int }

// Generate begins a text with each prompt, one for every sequence, and yields at most n further tokens of each. A text
// ends before the first stop token, which is not yielded. Prompts may differ in length: all sequences advance together,
// so shorter ones are already continued while longer ones are still read. Every text is identical to the bit to that of
// a Decoder with the same prompt and a sampler of the same seed, except with linear and Taylor attention, and with a
// tied head in float32, which add up one token and several in another order. If a prompt is longer than block_size,
// only its last tokens count.
//
// Generate first discards what was fed before. The loop ends with the last text, or with an error, for example when ctx
// ends. Until then the decoder is in use. Afterwards its context cannot be continued: call Reset or Generate.
func (d *BatchDecoder) Generate(
	ctx context.Context, prompts [][]int, n int, samplers []*search.Sampler, stop ...int,
) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		in, err := d.begin()
		if err != nil {
			yield(Token{}, err)
			return
		}
		defer in.busy.Unlock()
		if err := in.checkBatch(ctx, prompts, n, samplers, stop); err != nil {
			yield(Token{}, errors.Wrap(err, "generate"))
			return
		}
		for rows := d.rows(prompts, n, samplers); slices.ContainsFunc(rows, row.open); {
			if err := ctx.Err(); err != nil {
				yield(Token{}, errors.Wrap(err, "generate"))
				return
			}
			logits, err := in.feed(d.step)
			if err != nil {
				yield(Token{}, errors.Wrap(err, "decoder"))
				return
			}
			d.step = d.step[:0]
			for b := range rows {
				t, drawn, err := rows[b].next(logits.Row(b), stop)
				if err != nil {
					yield(Token{Row: b}, errors.Wrapf(err, "generate: row %d", b))
					return
				}
				if drawn && !yield(Token{b, t}, nil) {
					return
				}
				d.step = append(d.step, t)
			}
		}
	}
}

// checkBatch returns an error for invalid arguments before the context is discarded.
func (d *decoding) checkBatch(
	ctx context.Context, prompts [][]int, n int, samplers []*search.Sampler, stop []int,
) error {
	if err := d.checkWriting(ctx, n, stop); err != nil {
		return err
	}
	if len(prompts) != d.batch || len(samplers) != d.batch {
		return errors.Errorf("got %d prompts and %d samplers, want %d of each", len(prompts), len(samplers), d.batch)
	}
	for b, prompt := range prompts {
		if err := samplers[b].Validate(); err != nil {
			return errors.Wrapf(err, "row %d", b)
		}
		if err := d.checkPrompt(prompt); err != nil {
			return errors.Wrapf(err, "row %d", b)
		}
	}
	return nil
}
