package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Decoder lets a model write one token at a time. It has separate graphs, which share the model's parameters and keep
// the keys and values of the tokens so far, so the cost of a token does not grow with a forward pass over all of them:
// one graph for a new token, at any position, one for a few, and one for half a context of them at once.
//
// When the context of block_size tokens is full, the older half is dropped and the rest fed again: learned positions
// have moved, so what was kept is no longer valid (errata X9).
//
// It writes one text at a time, for one goroutine: each of several at once needs a Decoder of its own, and whoever
// comes while another works with it gets an error.
type Decoder struct {
	decoding *decoding
	waiting  []int // tokens of the text that are not fed yet: the one that was drawn last
	text     seen
}

// NewDecoder makes a decoder of m's parameters, as they are when it runs: after a Step, or another change of them, the
// tokens so far are fed again before the next ones. It is an error, naming the layer, if a part
// of the program's own computes something else token by token than all at once.
func NewDecoder(m *Model) (*Decoder, error) {
	d, err := newDecoding(m, 1)
	if err != nil {
		return nil, errors.Wrap(err, "decoder")
	}
	return &Decoder{decoding: d, text: newSeen(d.vocab)}, nil
}

// begin takes the decoder for a call, whose decoding is to be unlocked.
func (d *Decoder) begin() (*decoding, error) {
	if d == nil {
		return nil, errUnmade
	}
	return d.decoding, d.decoding.begin()
}

// Reset forgets the tokens so far.
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

// Feed appends tokens, at least one, to those that were fed, and returns the logits (1, V) of what follows. The result
// is overwritten by the next call. Of more tokens than the context holds only the last block_size count. After an id
// outside the vocabulary, an error, the context is as it was.
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

// feed is Feed for who has the decoder.
func (d *Decoder) feed(tokens []int) (graph.Tensor, error) {
	if len(tokens) == 0 {
		return graph.Tensor{}, errors.New("decoder: no token to feed, want 1 or more")
	}
	d.text.add(tokens...)
	logits, err := d.decoding.feed(tokens)
	return logits, errors.Wrap(err, "decoder")
}
