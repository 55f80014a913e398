package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// BatchDecoder is a Decoder of B sequences at once, all of one length: they share the work of reading the weights.
type BatchDecoder struct {
	decoding decoding
	step     []int // of all sequences
}

// NewBatchDecoder makes a decoder of m's parameters for a batch of sequences, at least one.
func NewBatchDecoder(m *Model, batch int) (*BatchDecoder, error) {
	if batch < 1 {
		return nil, errors.Errorf("decoder: a batch of %d, want 1 or more", batch)
	}
	d, err := newDecoding(m, batch)
	return &BatchDecoder{decoding: d}, errors.Wrap(err, "decoder")
}

// Reset forgets the tokens so far.
func (d *BatchDecoder) Reset() { d.decoding.reset() }

// Feed appends row i to sequence i, and returns the logits (B, V) of what follows in each. The rows are equally long,
// at least one token. For the rest it is Decoder.Feed.
func (d *BatchDecoder) Feed(rows [][]int) (graph.Tensor, error) {
	if len(rows) != d.decoding.batch {
		return graph.Tensor{}, errors.Errorf("decoder: got %d rows of tokens, want %d", len(rows), d.decoding.batch)
	}
	d.step = d.step[:0]
	for b, row := range rows {
		if len(row) == 0 || len(row) != len(rows[0]) {
			return graph.Tensor{}, errors.Errorf("decoder: got %d tokens in row %d and %d in row 0, want as many, 1 or more", len(row), b, len(rows[0]))
		}
		if i := d.decoding.unknown(row); i >= 0 {
			return graph.Tensor{}, errors.Errorf("decoder: row %d: token %d is %d, not in 0 … %d", b, i, row[i], d.decoding.vocab-1)
		}
	}
	for i := range rows[0] {
		for _, row := range rows {
			d.step = append(d.step, row[i])
		}
	}
	logits, err := d.decoding.feed(d.step)
	return logits, errors.Wrap(err, "decoder")
}
