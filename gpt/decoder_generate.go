package gpt

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pkg/errors"
)

// Generate begins a text with the prompt, which has at least one token, and yields n further tokens as the sampler
// draws them. It first discards what the decoder was fed before. It stops early, with an error, when ctx ends. The
// decoder is in use until the loop ends.
func (d *Decoder) Generate(ctx context.Context, prompt []int, n int, s *search.Sampler) iter.Seq2[int, error] {
	return d.generate(ctx, prompt, n, s, false)
}

// Continue is like Generate, but appends tokens, which may be empty, to the text so far, including its last drawn
// token: the next turn of a conversation, or more of the same text.
func (d *Decoder) Continue(ctx context.Context, tokens []int, n int, s *search.Sampler) iter.Seq2[int, error] {
	return d.generate(ctx, tokens, n, s, true)
}

func (d *Decoder) generate(ctx context.Context, tokens []int, n int, s *search.Sampler, on bool) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		in, err := d.begin()
		if err != nil {
			yield(0, err)
			return
		}
		defer in.busy.Unlock()
		if err := d.prepare(ctx, tokens, n, s, on); err != nil {
			yield(0, errors.Wrap(err, "generate"))
			return
		}
		for range n {
			id, err := d.draw(ctx, s)
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// prepare returns an error for invalid arguments before anything is discarded. Otherwise it queues the tokens for the
// first draw.
func (d *Decoder) prepare(ctx context.Context, tokens []int, n int, s *search.Sampler, on bool) error {
	if err := d.decoding.checkWriting(ctx, n, nil); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if err := d.decoding.check(tokens); err != nil {
		return err
	}
	if !on {
		d.restart()
	}
	if d.waiting = append(d.waiting, tokens...); len(d.waiting) == 0 {
		return errors.New("prompt: got 0 tokens, want 1 or more")
	}
	return nil
}

// draw feeds the waiting tokens, and draws the token that waits next.
func (d *Decoder) draw(ctx context.Context, s *search.Sampler) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, errors.Wrap(err, "generate")
	}
	logits, err := d.feed(d.waiting)
	if err != nil {
		return 0, err
	}
	d.waiting = d.waiting[:0]
	id, err := s.Draw(logits, d.text.ids...)
	if err == nil {
		d.waiting = append(d.waiting, id)
	}
	return id, err
}
