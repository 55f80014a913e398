package seq2seq

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// stateFormat is the version that is written. Format 1 had only AdamW and one micro-batch per step, and in its windows
// a token saw ⌊w/2⌋ others on either side.
const stateFormat = 2

// State is the content of a checkpoint other than the numbers of its tensors.
type State struct {
	train.State[Config]
	Source *Vocabulary `json:"source"`
	Target *Vocabulary `json:"target"`
}

// Files returns the complete state of the run, for checkpoint.Dir.Save. The tensors are read when their files are
// written. It is an error then if a step has been done since, or if weights or moments are not finite.
func (t *Trainer) Files(source, target *Vocabulary) ([]checkpoint.File, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.config.checkVocabularies(source, target); err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	s, err := train.StateOf(t.Core, stateFormat, t.config.Resolved())
	return t.Core.Files(s.Step, t.Model.write, State{s, source, target}), err
}

// write writes the parameters of one moment: a Trainer delays its next update until w has all of them.
func (m *Model) write(w io.Writer) error {
	return m.Graph.Shared(func(graph.Reading) error {
		return train.WriteTensors(w, train.Parameters(m.Params()), nil, "")
	})
}

// checkVocabularies returns an error unless both are given and have at most the numbers of tokens in c.
func (c Config) checkVocabularies(source, target *Vocabulary) error {
	for _, v := range []struct {
		name  string
		given *Vocabulary
		limit int
	}{{"source", source, c.SourceVocab}, {"target", target, c.TargetVocab}} {
		switch {
		case v.given == nil:
			return errors.Errorf("the %s's vocabulary is missing (nil)", v.name)
		case v.given.ids == nil:
			return errors.Wrap(errNoVocabulary, v.name)
		case v.given.Size() > v.limit:
			return errors.Errorf("got %d tokens in the %s's vocabulary, want at most %s_vocab %d",
				v.given.Size(), v.name, v.name, v.limit)
		}
	}
	return nil
}

// ReadState returns the state of a checkpoint; format 1 is converted to the current one. own are the variants of the
// program that saved it, if it had any.
func ReadState(cp *checkpoint.Checkpoint, own ...parts.Registry) (s State, err error) {
	s.Config = Config{ // for the keys that format 1 lacks
		Training: train.Training{GradientAccumulationSteps: 1, DecayLR: true},
		Run:      train.Run{EvalInterval: 500, EvalIters: 1, LogInterval: 50},
		Parts:    parts.Join(own...),
	}
	if err := train.ReadJSON(cp, train.StateFile, train.MaxJSON, &s); err != nil {
		return s, err
	}
	if err := s.Check(cp, 1, stateFormat); err != nil {
		return s, err
	}
	if s.Source == nil || s.Target == nil {
		return s, errors.Errorf("checkpoint %s: %s: the two vocabularies of an encoder–decoder are missing",
			cp.Path, train.StateFile)
	}
	if err := s.Config.checkVocabularies(s.Source, s.Target); err != nil {
		return s, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, train.StateFile)
	}
	if w := s.Config.Options.Get("window"); s.Format == 1 && w > 0 {
		s.Config.Options.Offer("window", w/2+1)
	}
	return s, nil
}

// Fits returns the check for loading the checkpoints of an encoder–decoder: a checkpoint whose tensors differ in size
// from its configuration is skipped before it is read. own are the variants of the program that saved it.
func Fits(own ...parts.Registry) checkpoint.Fit {
	return func(cp *checkpoint.Checkpoint) error {
		s, err := ReadState(cp, own...)
		if err != nil {
			return err
		}
		if err := s.Config.ValidateModel(); err != nil {
			return err
		}
		n, err := s.Config.Resolved().counts()
		if err != nil {
			return err
		}
		return train.Fit(cp, n.parameters, func(safetensors.Entry) bool { return false })
	}
}

// Resume returns a Trainer like NewTrainer, in the state that cp holds. The configuration may differ from the saved
// one only where Config.ResumeDiff allows it; other pairs or vocabularies are an error.
func Resume(c Config, pairs Pairs, source, target *Vocabulary, cp *checkpoint.Checkpoint) (*Trainer, error) {
	s, err := ReadState(cp, c.Parts)
	if err != nil {
		return nil, err
	}
	if c.Experts.RouterAuxLossCoef == 0 { // NewTrainer has set the default, or has not in an earlier version
		c.Experts.RouterAuxLossCoef = s.Config.Experts.RouterAuxLossCoef
	}
	if err := c.ResumeDiff(s.Config); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	for _, v := range []struct{ now, was *Vocabulary }{{source, s.Source}, {target, s.Target}} {
		now, err1 := json.Marshal(v.now)
		was, err2 := json.Marshal(v.was)
		if err1 != nil || err2 != nil || !bytes.Equal(now, was) {
			return nil, errors.Errorf("checkpoint %s: the vocabulary of %d tokens is not the one of %d that is saved",
				cp.Path, v.now.Size(), v.was.Size())
		}
	}
	t, err := trainerAt(c, pairs, s.Step)
	if err != nil {
		return nil, err
	}
	if s.Corpus != t.SHA256 {
		return nil, errors.Errorf("checkpoint %s: trained on the pairs with sha256 %s, these have %s",
			cp.Path, field.Clip(s.Corpus), t.SHA256)
	}
	if err := t.Model.restore(cp); err != nil {
		return nil, err
	}
	return t, errors.Wrapf(s.Restore(t.Core, cp), "checkpoint %s", cp.Path)
}

// LoadModel builds the model of a checkpoint for translating: in float32, for batches of one, and without dropout
// unless its Graph's SetTraining switches it on.
func LoadModel(cp *checkpoint.Checkpoint, own ...parts.Registry) (*Model, State, error) {
	s, err := ReadState(cp, own...)
	if err != nil {
		return nil, s, err
	}
	g := graph.New(graph.Float32, s.Config.Seed)
	g.Kernels = s.Config.Kernels
	m, err := New(g, s.Config, 1)
	if err != nil {
		return nil, s, err
	}
	g.SetTraining(false)
	if err := m.restore(cp); err != nil {
		return m, s, err
	}
	return m, s, errors.Wrapf(m.Config.checkCausal(g, false), "checkpoint %s", cp.Path)
}

// restore sets the parameters to those of the checkpoint.
func (m *Model) restore(cp *checkpoint.Checkpoint) error {
	f, err := train.OpenTensors(cp, train.WeightsFile)
	if err == nil {
		err = train.Restore(train.Parameters(m.Params()), f)
	}
	return errors.Wrapf(err, "checkpoint %s: weights", cp.Path)
}
