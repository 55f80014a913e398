package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pkg/errors"
)

// fields returns the exported fields of m except its Config.
func (m *Model) fields() made.Network {
	exprs := []made.Expr{
		{Name: "Source", Expr: m.Source}, {Name: "Input", Expr: m.Input}, {Name: "Targets", Expr: m.Targets},
		{Name: "Logits", Expr: m.Logits}, {Name: "Loss", Expr: m.Loss},
	}
	return made.Network{Graph: m.Graph, Exprs: exprs}
}

// withConfig returns the exported fields of m, including those of its Config that change the result of a graph that
// does not train.
func (m *Model) withConfig() made.Network {
	all := m.fields()
	all.Config = m.Config.networkFields().Without("dropout").Lines()
	return all
}

// check returns an error that names the field if a field of m has been replaced since New or LoadModel.
func (m *Model) check() error {
	if m == nil {
		return errors.New("model: got nil, want one of New or LoadModel")
	}
	return made.Check(m.built, m.withConfig())
}

// begin locks t for one goroutine until t.busy is unlocked. It returns an error if a field of t has been replaced by
// one that t does not train.
func (t *Trainer) begin() error {
	switch {
	case t == nil || t.original == nil:
		return errors.New("trainer: nothing to train, want one of NewTrainer or Resume")
	case t.Core != t.original.Core:
		return errors.New("trainer: Core has been replaced: want the one of NewTrainer or Resume")
	case t.Model != t.original.Model:
		return errors.New("trainer: Model has been replaced, which this Trainer does not train: " +
			"Resume makes one for the weights of a checkpoint")
	case t.SHA256 != t.original.SHA256:
		return errors.New("trainer: SHA256 has been replaced: want that of the pairs that this Trainer trains on")
	}
	if err := made.Check(t.Model.built, t.Model.fields()); err != nil {
		return errors.WithMessage(err, "trainer")
	}
	if !t.busy.TryLock() {
		return errors.New("trainer: in use by another goroutine")
	}
	return nil
}
