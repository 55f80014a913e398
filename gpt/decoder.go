package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Decoder generates text with a model, one token at a time. Its graphs share the model's parameters and keep the keys
// and values of the tokens so far, so a new token needs no forward pass over all of them. There is one graph for a
// single token at any position, one for a few tokens, and one for half a context at once.
//
// When the context of block_size tokens is full, the older half is dropped and the rest is fed again: learned
// positions have moved, so the stored keys and values are no longer valid (errata X9).
//
// A Decoder generates one text at a time, for one goroutine. A call returns an error while another goroutine uses the
// Decoder; goroutines that work at the same time need one Decoder each.
type Decoder struct {
	decoding *decoding
	waiting  []int // tokens of the text that are not fed yet, such as the one drawn last
	text     seen
}

// NewDecoder returns a decoder that uses m's parameters at the time of each call: after a Step, or another change of
// them, the tokens so far are fed again before the next ones. It returns an error that names the layer if a
// user-defined part computes something else token by token than all at once.
func NewDecoder(m *Model) (*Decoder, error) {
	d, err := newDecoding(m, 1)
	if err != nil {
		return nil, errors.Wrap(err, "decoder")
	}
	return &Decoder{decoding: d, text: newSeen(d.vocab)}, nil
}

// begin locks the decoder for a call. The caller must unlock busy.
func (d *Decoder) begin() (*decoding, error) {
	if d == nil {
		return nil, errNoDecoder
	}
	return d.decoding, d.decoding.begin()
}

// Reset removes all tokens from the context.
func (d *Decoder) Reset() error {
	in, err := d.begin()
	if err != nil {
		return err
	}
	defer in.busy.Unlock()
	d.restart()
	return nil
}

func (d *Decoder) restart() {
	d.decoding.reset()
	d.waiting = d.waiting[:0]
	d.text.reset()
}

// Feed appends at least one token to those fed before, and returns the logits (1, V) of the next token. The next call
// overwrites the result. If the context cannot hold all tokens, only the last block_size count. An id outside the
// vocabulary is an error, which leaves the context unchanged.
func (d *Decoder) Feed(tokens ...int) (graph.Tensor, error) {
	in, err := d.begin()
	if err != nil {
		return graph.Tensor{}, err
	}
	defer in.busy.Unlock()
	if err := in.check(tokens); err != nil {
		return graph.Tensor{}, errors.Wrap(err, "decoder")
	}
	d.waiting = d.waiting[:0]
	return d.feed(tokens)
}

// feed is Feed for a caller that holds the lock.
func (d *Decoder) feed(tokens []int) (graph.Tensor, error) {
	if len(tokens) == 0 {
		return graph.Tensor{}, errors.New("decoder: no token to feed, want 1 or more")
	}
	d.text.add(tokens...)
	logits, err := d.decoding.feed(tokens)
	return logits, errors.Wrap(err, "decoder")
}
