package gpt

import (
	"context"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
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

// checkWriting returns an error for arguments with which no text can be generated.
func (d *decoding) checkWriting(ctx context.Context, n int, stop []int) error {
	switch {
	case ctx == nil:
		return errors.New("context: got nil, want one such as context.Background()")
	case n < 0:
		return errors.Errorf("tokens: got %d to write, want 0 or more", n)
	}
	return errors.Wrap(d.check(stop), "stop")
}

func (d *decoding) checkPrompt(prompt []int) error {
	if len(prompt) == 0 {
		return errors.New("prompt: got 0 tokens, want 1 or more")
	}
	return d.check(prompt)
}

// checkHypotheses returns an error if hypotheses of n tokens need too much memory.
func (d *decoding) checkHypotheses(n int) error {
	bytes := 8 * float64(d.batch) * float64(n)
	fields := field.List{
		field.New("tokens", &n, field.Size(0), ""),
		field.New("sequences", &d.batch, field.Size(1), ""),
	}
	return fields.CheckMemory(graph.MachineMemory(), bytes, "hypotheses", "tokens", "sequences")
}
