package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// BatchDecoder is a Decoder of B sequences at once, all of one length: they share the work of reading the weights.
type BatchDecoder struct {
	decoding *decoding
	step     []int // of all sequences
}

// NewBatchDecoder makes a decoder of m's parameters for a batch of sequences, at least one, and as many as the memory
// limit allows. For the rest it is NewDecoder.
func NewBatchDecoder(m *Model, batch int) (*BatchDecoder, error) {
	d, err := newDecoding(m, batch)
	if err != nil {
		return nil, errors.Wrap(err, "decoder")
	}
	return &BatchDecoder{decoding: d}, nil
}

// begin takes the decoder for a call, whose decoding is to be unlocked.
func (d *BatchDecoder) begin() (*decoding, error) {
	if d == nil {
		return nil, errUnmade
	}
	return d.decoding, d.decoding.begin()
}

// Reset forgets the tokens so far.
func (d *BatchDecoder) Reset() error {
	in, err := d.begin()
	if err != nil {
		return err
	}
	defer in.busy.Unlock()
	in.reset()
	return nil
}

// Feed appends row i to sequence i, and returns the logits (B, V) of what follows in each. The rows are equally long,
// at least one token. For the rest it is Decoder.Feed.
func (d *BatchDecoder) Feed(rows [][]int) (graph.Tensor, error) {
	in, err := d.begin()
	if err != nil {
		return graph.Tensor{}, err
	}
	defer in.busy.Unlock()
	if len(rows) != in.batch {
		return graph.Tensor{}, errors.Errorf("decoder: got %d rows of tokens, want %d", len(rows), in.batch)
	}
	d.step = d.step[:0]
	for b, row := range rows {
		if len(row) == 0 || len(row) != len(rows[0]) {
			return graph.Tensor{}, errors.Errorf("decoder: got %d tokens in row %d and %d in row 0, want as many, 1 or more",
				len(row), b, len(rows[0]))
		}
		if err := in.check(row); err != nil {
			return graph.Tensor{}, errors.Wrapf(err, "decoder: row %d", b)
		}
	}
	for i := range rows[0] {
		for _, row := range rows {
			d.step = append(d.step, row[i])
		}
	}
	logits, err := in.feed(d.step)
	return logits, errors.Wrap(err, "decoder")
}
