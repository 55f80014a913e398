package gpt

import (
	"context"
	"iter"
	"slices"

	"github.com/pkg/errors"
)

// Token is what a text of a batch goes on with.
type Token struct{ Row, ID int }

// Generate begins a text with each prompt, one for every sequence, and yields n tokens more of each, or fewer: a text
// ends before the first of the stop tokens, which is not yielded. Prompts may differ in length, since all sequences
// stand at the same place: shorter ones are written on while longer ones are still read. Every text is the one that a
// Decoder writes alone, behind the same prompt with a sampler of the same seed, to the bit; but for linear and Taylor
// attention, and a tied head in float32, which add up one token and several in another order. Of a prompt longer than
// block_size the last tokens count.
//
// What was fed before is forgotten. The loop ends with the last text, or with an error, such as when ctx ends. The
// decoder is the caller's until then; what it has read afterwards is nothing to go on with.
func (d *BatchDecoder) Generate(ctx context.Context, prompts [][]int, n int, samplers []*Sampler, stop ...int) iter.Seq2[Token, error] {
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

// checkBatch refuses what cannot be before anything is forgotten.
func (d *decoding) checkBatch(ctx context.Context, prompts [][]int, n int, samplers []*Sampler, stop []int) error {
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
