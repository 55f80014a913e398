package gpt

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Decoder lets a model write one token at a time. It has separate graphs, which share the model's parameters and keep
// the keys and values of the tokens so far, so the cost of a token does not grow with a forward pass over all of them:
// one graph for a new token, at any position, and one for half a context of them at once.
//
// When the context of block_size tokens is full, the older half is dropped and the rest fed again: learned positions
// have moved, so what was kept is no longer valid (errata X9).
type Decoder struct{ decoding decoding }

// NewDecoder makes a decoder of m's parameters, as they are when it runs.
func NewDecoder(m *Model) (*Decoder, error) {
	d, err := newDecoding(m, 1)
	return &Decoder{d}, errors.Wrap(err, "decoder")
}

// Reset forgets the tokens so far.
func (d *Decoder) Reset() { d.decoding.reset() }

// Feed appends tokens, at least one, and returns the logits (1, V) of what follows. The result is overwritten by the
// next call. Of more tokens than the context holds only the last block_size count. After an id outside the vocabulary,
// an error, the context is as it was.
func (d *Decoder) Feed(tokens ...int) (graph.Tensor, error) {
	if len(tokens) == 0 {
		return graph.Tensor{}, errors.New("decoder: no token to feed")
	}
	if i := d.decoding.unknown(tokens); i >= 0 {
		return graph.Tensor{}, errors.Errorf("decoder: token %d is %d, not in 0 … %d", i, tokens[i], d.decoding.vocab-1)
	}
	logits, err := d.decoding.feed(tokens)
	return logits, errors.Wrap(err, "decoder")
}

// Generate feeds the prompt, at least one token, and yields n tokens more as the sampler draws them. It stops early,
// with an error, when ctx ends.
func (d *Decoder) Generate(ctx context.Context, prompt []int, n int, s *Sampler) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		feed, drawn := prompt, make([]int, 1)
		for range n {
			if err := ctx.Err(); err != nil {
				yield(0, errors.Wrap(err, "generate"))
				return
			}
			logits, err := d.Feed(feed...)
			if err != nil {
				yield(0, err)
				return
			}
			id, err := s.Draw(logits)
			if !yield(id, err) || err != nil {
				return
			}
			drawn[0], feed = id, drawn
		}
	}
}
