package seq2seq

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
	r, s := c.Resolved(), c.Stack
	s.Attention, s.Options = r.Attention, r.Options
	if err := s.Check(c.known(), c.SourceSize); err != nil {
		return err
	}
	return r.checkParameters(1)
}
