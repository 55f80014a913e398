package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// checkDecoding returns an error if m cannot be decoded with, before anything is allocated.
func (m *Model) checkDecoding(batch int) error {
	if err := m.Check(); err != nil {
		return err
	}
	if batch < 1 {
		return errors.Errorf("sequences: got a batch of %d, want 1 or more", batch)
	}
	c := m.Config
	if err := c.networkFields().Check(); err != nil {
		return errors.Wrap(err, "model")
	}
	o, err := c.outline()
	if err != nil {
		return errors.Wrap(err, "model")
	}
	fed := float64(c.BlockSize) / 2 * c.Inside(c.known(), c.BlockSize) // half a context at once
	fields := append(c.networkFields(), field.New("sequences", &batch, field.Size(1), ""))
	bytes := 4 * float64(batch) * (o.remembered + fed + float64(c.VocabSize))
	return fields.CheckMemory(m.Graph.MemoryLimit(), bytes, "the keys and values",
		"sequences", "block_size", "n_layer", "n_head", "n_embd", "vocab_size")
}
