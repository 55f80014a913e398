package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

const stateFormat = 1

// maxState is the size of the largest state that is read, in bytes.
const maxState = 1 << 20

// Files returns the complete state of the run, for checkpoint.Dir.Save. The tensors are read when their files are
// written. It is an error then if a step has been done since, or if weights or moments are not finite.
func (t *Trainer) Files() ([]checkpoint.File, error) {
	_, files, err := t.files()
	return files, err
}

// files returns the number of steps done and the list of Files.
func (t *Trainer) files() (step int, list []checkpoint.File, err error) {
	if err := t.check(); err != nil {
		return 0, nil, err
	}
	if err := t.checkTokenizer(); err != nil {
		return 0, nil, err
	}
	hf, err := t.config.HuggingFace()
	if err != nil {
		return 0, nil, err
	}
	s, err := train.StateOf(t.Core, stateFormat, t.config)
	if err != nil {
		return 0, nil, err
	}
	list = append(t.Core.Files(s.Step, t.Model.WriteWeights, s), tokenizerFileOf(t.Tokenizer))
	return s.Step, slices.Insert(list, 1, checkpoint.File{Name: configFile, Write: train.WriteBytes(hf)}), nil
}

// Save writes the state as a checkpoint into the directory at path, which it creates if it does not exist, and holds
// the directory's lock meanwhile. To save more than once, keep a checkpoint.Dir open instead, so that no other process
// can save in between. All machines of a Group must call it: rank 0 writes, and the others wait. Meanwhile, a Step in
// another goroutine is an error; Model.WriteWeights, Files and Export can write during a run.
func (t *Trainer) Save(path string) error {
	if err := t.check(); err != nil {
		return err
	}
	if t.Group == nil {
		return t.save(path)
	}
	var err error
	if t.Group.Rank() == 0 {
		err = t.save(path)
	} else {
		err = t.Attend()
	}
	if err != nil {
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
// Config.ResumeDiff allows it; another corpus or vocabulary is an error. The code in c, Parts and Hooks, is in no
// checkpoint: the caller must pass the same again. With other Hooks the rest of the run differs, without an error.
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
	if err = t.Model.fill(t.Model.ours(), cp, t.Model.Params()); err == nil {
		err = s.Restore(t.Core, cp)
	}
	return t, errors.Wrapf(err, "checkpoint %s", cp.Path)
}

func readState(cp *checkpoint.Checkpoint, own parts.Registry) (s train.State[Config], err error) {
	s.Config.Parts = own // its options are keys of the state
	if err = train.ReadJSON(cp, train.StateFile, maxState, &s); err != nil {
		return s, err
	}
	return s, s.Check(cp, stateFormat)
}
