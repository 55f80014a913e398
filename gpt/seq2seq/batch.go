package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// The first ids of every Vocabulary.
const (
	Pad    = iota // fills rows that are not full
	Begin         // the decoder reads it before the target
	End           // ends a target
	Hidden        // replaces a token that a masked model must guess
	specials
)

// Fill copies the pairs, one for every row of the batch, into Source, Input, Targets and the masks. After an error all
// of them are unchanged.
func (m *Model) Fill(pairs []Pair) error {
	if m == nil {
		return errors.New("seq2seq: nothing to fill, want one of New")
	}
	if err := made.Check(m.built, m.fields()); err != nil {
		return errors.WithMessage(err, "seq2seq")
	}
	if batch := len(m.encoder.lengths); len(pairs) != batch {
		return errors.Errorf("got %d pairs for a batch of %d", len(pairs), batch)
	}
	if err := m.config.allFit(pairs); err != nil {
		return err
	}
	t := m.config.TargetSize
	input, targets := m.Input.Ints(), m.Targets.Ints()
	for b, p := range pairs {
		in, out := input[b*t:][:t], targets[b*t:][:t]
		for i := range t {
			in[i], out[i] = Pad, text.Ignore
		}
		in[0], out[len(p.Target)] = Begin, End
		copy(in[1:], p.Target)
		copy(out, p.Target)
	}
	if err := fillSources(m.encoder, m.Source.Ints(), pairs); err != nil {
		return err
	}
	return m.memory.Update()
}

// fillSources pads the sources, which must fit, and hides the padding from the encoder.
func fillSources(e encoder, ids []int, pairs []Pair) error {
	s := len(ids) / len(pairs)
	for b, p := range pairs {
		row := ids[b*s:][:s]
		clear(row[copy(row, p.Source):]) // Pad is 0
		e.lengths[b] = len(p.Source)
	}
	return e.mask.Update()
}
