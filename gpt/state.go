package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

const stateFormat = 1

// maxState is the bytes of the largest state that is read.
const maxState = 1 << 20

// Files returns the whole state of the run, for checkpoint.Dir.Save. The tensors are read when they are written: a step
// done before that is an error then, and so are weights and moments that are not finite.
func (t *Trainer) Files() ([]checkpoint.File, error) {
	_, files, err := t.files()
	return files, err
}

// files returns the number of steps done, and Files.
func (t *Trainer) files() (step int, list []checkpoint.File, err error) {
	if err := t.begin(); err != nil {
		return 0, nil, err
	}
	defer t.busy.Unlock()
	if err := t.checkTokenizer(); err != nil {
		return 0, nil, err
	}
	hf, err := t.config.HuggingFace()
	if err != nil {
		return 0, nil, err
	}
	generator, err := t.batches.MarshalBinary()
	if err != nil {
		return 0, nil, errors.Wrap(err, "state")
	}
	return t.Done, []checkpoint.File{
		{Name: train.WeightsFile, Write: t.AtStep(t.Model.WriteWeights)},
		{Name: configFile, Write: train.WriteBytes(hf)},
		{Name: train.OptimizerFile, Write: t.AtStep(t.WriteMoments)},
		{Name: train.StateFile, Write: train.WriteJSON(train.StateOf(t.Core, stateFormat, generator, t.Corpus.SHA256(), t.config))},
		tokenizerFileOf(t.Tokenizer),
	}, nil
}

// Save writes the state as a checkpoint into the directory at path, which is made where it is missing, and holds its
// lock meanwhile. Who saves more than once keeps a checkpoint.Dir open instead, so that no other process saves between.
// The machines of a Group all call it: rank 0 writes, and the others wait for that. A Step in another goroutine is an
// error meanwhile; Model.WriteWeights, Files and Export write beside a run.
func (t *Trainer) Save(path string) error {
	switch {
	case t == nil || t.made == nil:
		return errNoTrainer
	case t.Core != t.made.Core || t.Group == nil:
		return t.save(path)
	}
	if t.Group.Rank() == 0 {
		if err := t.save(path); err != nil {
			return err
		}
	} else if err := t.Attend(); err != nil {
		return err
	}
	return t.Group.Barrier()
}

func (t *Trainer) save(path string) error {
	step, files, err := t.files()
	if err != nil {
		return err
	}
	dir, err := checkpoint.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Save(step, files)
}

// Resume is NewTrainer in the state that cp holds. The configuration may differ from the saved one only where
// Config.ResumeDiff allows it; another corpus or vocabulary is an error. What of c is code, Parts and Hooks, is in no
// checkpoint: the same has to be handed in again, and where Hooks are not, the rest of the run is another without an
// error.
func Resume(c Config, corpus text.Corpus, tok text.Tokenizer, cp *checkpoint.Checkpoint) (*Trainer, error) {
	if err := checkText(corpus, tok); err != nil {
		return nil, err
	}
	if c.VocabSize == 0 {
		c.VocabSize = tok.Size()
	}
	s, err := readState(cp, c.Parts)
	if err != nil {
		return nil, err
	}
	if err := c.ResumeDiff(s.Config); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	if got := corpus.SHA256(); got != s.Corpus {
		return nil, errors.Errorf("checkpoint %s: trained on the text with sha256 %s, this one has %s",
			cp.Path, field.Clip(s.Corpus), got)
	}
	if err := checkTokenizer(cp, tok); err != nil {
		return nil, err
	}
	t, err := trainerAt(c, corpus, tok, s.Step, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	return t, errors.Wrapf(t.restore(s, cp), "checkpoint %s", cp.Path)
}

func readState(cp *checkpoint.Checkpoint, own parts.Registry) (s train.State[Config], err error) {
	s.Config.Parts = own // whose options are keys
	if err = train.ReadJSON(cp, train.StateFile, maxState, &s); err != nil {
		return s, err
	}
	return s, s.Check(cp, stateFormat)
}

func (t *Trainer) restore(s train.State[Config], cp *checkpoint.Checkpoint) error {
	if err := t.Model.fill(t.Model.ours(), cp, t.Model.Params()); err != nil {
		return err
	}
	if err := t.batches.UnmarshalBinary(s.Batches); err != nil {
		return errors.Wrap(err, train.StateFile)
	}
	return s.Restore(t.Core, cp)
}
