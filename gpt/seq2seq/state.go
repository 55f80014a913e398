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

// stateFormat is what is written. Format 1 had AdamW only and one micro-batch a step, and of its windows a token saw
// ⌊w/2⌋ others on either side.
const stateFormat = 2

// State is what a checkpoint holds besides the numbers of its tensors.
type State struct {
	train.State[Config]
	Source *Vocabulary `json:"source"`
	Target *Vocabulary `json:"target"`
}

// Files is the whole state of the run, for checkpoint.Dir.Save. The tensors are read when they are written: to do a
// step before is an error then, and numbers that are not finite are refused.
func (t *Trainer) Files(source, target *Vocabulary) []checkpoint.File {
	if t == nil || t.Core == nil {
		return nil
	}
	s := State{train.StateOf(t.Core, stateFormat, nil, t.SHA256, t.Model.Config), source, target}
	return []checkpoint.File{
		{Name: train.WeightsFile, Write: t.AtStep(func(w io.Writer) error {
			return train.WriteTensors(w, train.Parameters(t.Model.Params()), nil, "")
		})},
		{Name: train.OptimizerFile, Write: t.AtStep(t.WriteMoments)},
		{Name: train.StateFile, Write: train.WriteJSON(s)},
	}
}

// ReadState is the state of a checkpoint, one of format 1 in the terms of today. own are the variants of the program
// that saved it, if it had any.
func ReadState(cp *checkpoint.Checkpoint, own ...parts.Registry) (s State, err error) {
	s.Config = Config{ // what format 1 has no keys for
		Training: train.Training{GradientAccumulationSteps: 1, DecayLR: true},
		Run:      train.Run{EvalInterval: 500, EvalIters: 1, LogInterval: 50},
	}
	for _, p := range own {
		s.Config.Parts = p
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
	for _, v := range []struct {
		name     string
		has, may int
	}{{"source", s.Source.Size(), s.Config.SourceVocab}, {"target", s.Target.Size(), s.Config.TargetVocab}} {
		if v.has > v.may {
			return s, errors.Errorf("checkpoint %s: %s: got %d tokens in the %s's vocabulary, want at most %s_vocab %d",
				cp.Path, train.StateFile, v.has, v.name, v.name, v.may)
		}
	}
	if w := s.Config.Options.Get("window"); s.Format == 1 && w > 0 {
		s.Config.Options.Set("window", w/2+1)
	}
	return s, nil
}

// Fits is what to load an encoder–decoder's checkpoints with: one whose tensors are not as many numbers as its
// configuration asks for is passed over before it is read. own are the variants of the program that saved it.
func Fits(own ...parts.Registry) checkpoint.Fit {
	return func(cp *checkpoint.Checkpoint) error {
		s, err := ReadState(cp, own...)
		if err != nil {
			return err
		}
		if err := s.Config.ValidateModel(); err != nil {
			return err
		}
		n, err := s.Config.Resolved().parameters()
		if err != nil {
			return err
		}
		return train.Fit(cp, n, func(safetensors.Entry) bool { return false })
	}
}

// Resume is NewTrainer in the state that cp holds. The configuration may differ from the saved one only where
// Config.ResumeDiff allows it; other pairs or vocabularies are an error.
func Resume(c Config, pairs Pairs, source, target *Vocabulary, cp *checkpoint.Checkpoint) (*Trainer, error) {
	s, err := ReadState(cp, c.Parts)
	if err != nil {
		return nil, err
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

// LoadModel builds the model of a checkpoint, for translating: in float32, for batches of one, and without dropout
// until its Graph's SetTraining switches it on.
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
	return m, s, m.restore(cp)
}

// restore sets the parameters to those of the checkpoint.
func (m *Model) restore(cp *checkpoint.Checkpoint) error {
	f, err := train.OpenTensors(cp, train.WeightsFile)
	if err == nil {
		err = train.Restore(train.Parameters(m.Params()), f)
	}
	return errors.Wrapf(err, "checkpoint %s: weights", cp.Path)
}
