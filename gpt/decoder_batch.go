package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// BatchDecoder is a Decoder for B sequences of equal length at once, which reads the weights once for all of them.
type BatchDecoder struct {
	decoding *decoding
	step     []int // next tokens of all sequences
}

// NewBatchDecoder returns a decoder of m's parameters for a batch of at least one sequence; the memory limit bounds the
// batch. Otherwise it is like NewDecoder.
func NewBatchDecoder(m *Model, batch int) (*BatchDecoder, error) {
	d, err := newDecoding(m, batch)
	if err != nil {
		return nil, errors.Wrap(err, "decoder")
	}
	return &BatchDecoder{decoding: d}, nil
}

// begin locks the decoder for a call. The caller must unlock busy.
func (d *BatchDecoder) begin() (*decoding, error) {
	if d == nil {
		return nil, errNoDecoder
	}
	return d.decoding, d.decoding.begin()
}

// Reset removes all tokens from the context.
func (d *BatchDecoder) Reset() error {
	in, err := d.begin()
	if err != nil {
		return err
	}
	defer in.busy.Unlock()
	in.reset()
	return nil
}

// Feed appends row i to sequence i, and returns the logits (B, V) of the next token of each. All rows must have the
// same length of at least one token. Otherwise it is like Decoder.Feed.
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
			return graph.Tensor{}, errors.Errorf(
				"decoder: got %d tokens in row %d and %d in row 0, want the same number, 1 or more",
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
