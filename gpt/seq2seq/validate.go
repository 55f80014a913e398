package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Validate returns the first thing wrong with c, naming the field, what it got and what it wants.
func (c Config) Validate() error {
	if err := c.ValidateModel(); err != nil {
		return err
	}
	if err := c.fields().Check(); err != nil {
		return err
	}
	if err := c.scheduled().CheckSchedule(); err != nil {
		return err
	}
	return c.checkTraining()
}

// ValidateModel is Validate without the training.
func (c Config) ValidateModel() error {
	if err := c.networkFields().Check(); err != nil {
		return err
	}
	if c.NEmbd%c.NHead != 0 && (c.QKSize == 0 || c.VSize == 0) {
		return errors.Errorf("n_head: %d heads do not divide n_embd %d; set both qk_size and v_size to do without", c.NHead, c.NEmbd)
	}
	c = c.Resolved()
	if c.NInner > field.MaxSize {
		return errors.Errorf("n_inner: got %d, want a whole number, 1 to %d", c.NInner, field.MaxSize)
	}
	if check := find(positions(), c.Position).Check; check != nil {
		if err := check(c.side(c.TargetSize)); err != nil {
			return err
		}
	}
	if check := find(attentions(), c.Attention).check; check != nil {
		if err := check(c); err != nil {
			return err
		}
	}
	return c.checkParameters(1)
}
