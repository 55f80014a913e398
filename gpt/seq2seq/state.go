package seq2seq

import (
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
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

// state returns the present state of the run.
func (t *Trainer) state(source, target *Vocabulary) (s State, err error) {
	core, err := train.StateOf(t.core(), stateFormat, Config{})
	if err != nil {
		return s, err
	}
	core.Config = t.config.Resolved()
	return State{core, source, target}, errors.Wrap(t.config.checkVocabularies(source, target), "trainer")
}

// Files returns the complete state of the run, for checkpoint.Dir.Save. The tensors are read when their files are
// written. It is an error then if a step has been done since, or if weights or moments are not finite.
func (t *Trainer) Files(source, target *Vocabulary) ([]checkpoint.File, error) {
	s, err := t.state(source, target)
	if err != nil {
		return nil, err
	}
	return t.Core.Files(s.Step, nil, s), nil
}

// AveragedFiles returns a checkpoint of the model of Averaged alone, for checkpoint.Dir.Save. LoadModel reads it;
// Resume refuses it, because it has no moments.
func (t *Trainer) AveragedFiles(source, target *Vocabulary) ([]checkpoint.File, error) {
	m, err := t.Averaged()
	if err != nil {
		return nil, err
	}
	s, err := t.state(source, target)
	return []checkpoint.File{
		{Name: train.WeightsFile, Write: func(w io.Writer) error { return train.WriteWeights(w, m.Graph) }},
		{Name: train.StateFile, Write: train.WriteJSON(s)},
	}, err
}

// checkVocabularies returns an error unless both are given and have at most the numbers of tokens in c.
func (c Config) checkVocabularies(source, target *Vocabulary) error {
	for _, side := range []struct {
		name  string
		v     *Vocabulary
		limit int
	}{{"source", source, c.SourceVocab}, {"target", target, c.TargetVocab}} {
		switch {
		case side.v == nil || side.v.ids == nil:
			return errors.Wrap(errNoVocabulary, side.name)
		case side.v.Size() > side.limit:
			return errors.Errorf("got %d tokens in the %s's vocabulary, want at most %s_vocab %d",
				side.v.Size(), side.name, side.name, side.limit)
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
	if err := train.ReadState(cp, train.MaxJSON, &s, 1, stateFormat); err != nil {
		return s, err
	}
	if err := s.Config.checkVocabularies(s.Source, s.Target); err != nil {
		return s, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, train.StateFile)
	}
	s.Config.DrawnTokens = s.Target.Size()
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
		return train.Fit(cp, n.parameters, s.Config.Resolved().layers(), func(safetensors.Entry) bool { return false })
	}
}

// Resume returns a Trainer like NewTrainer, in the state that cp holds. The configuration may differ from the saved
// one only where Config.ResumeDiff allows it; other pairs or vocabularies are an error.
func Resume(c Config, pairs Pairs, source, target *Vocabulary, cp *checkpoint.Checkpoint) (*Trainer, error) {
	s, err := ReadState(cp, c.Parts)
	if err != nil {
		return nil, err
	}
	c.Stack, c.DrawnTokens = c.Stack.Resumed(s.Config.Stack), s.Config.DrawnTokens
	if err := c.ResumeDiff(s.Config); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	for _, v := range [][2]*Vocabulary{{source, s.Source}, {target, s.Target}} {
		if v[0] == nil || v[0].unit != v[1].unit || !slices.Equal(v[0].tokens, v[1].tokens) {
			return nil, errors.Errorf("checkpoint %s: the vocabulary of %d tokens is not the one of %d that is saved",
				cp.Path, v[0].Size(), v[1].Size())
		}
	}
	t, err := newTrainer(c, pairs)
	if err != nil {
		return nil, err
	}
	if err = train.ReadWeights(cp, t.Model.Graph); err == nil {
		err = s.Restore(t.Core, cp)
	}
	return t, errors.Wrapf(err, "checkpoint %s", cp.Path)
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
	if err = train.ReadWeights(cp, g); err == nil {
		err = m.Config.checkCausal(g, false)
	}
	return m, s, errors.Wrapf(err, "checkpoint %s", cp.Path)
}
