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

// Files is the whole state of the run, for checkpoint.Dir.Save. The tensors are read when they are written: to do a
// step before is an error then, and weights and moments that are not finite are refused.
func (t *Trainer) Files() ([]checkpoint.File, error) {
	if err := t.begin(); err != nil {
		return nil, err
	}
	defer t.busy.Unlock()
	hf, err := t.config.HuggingFace()
	if err != nil {
		return nil, err
	}
	generator, err := t.batches.MarshalBinary()
	if err != nil {
		return nil, errors.Wrap(err, "state")
	}
	return []checkpoint.File{
		{Name: train.WeightsFile, Write: t.AtStep(t.Model.WriteWeights)},
		{Name: configFile, Write: train.WriteBytes(hf)},
		{Name: train.OptimizerFile, Write: t.AtStep(t.WriteMoments)},
		{Name: train.StateFile, Write: train.WriteJSON(train.StateOf(t.Core, stateFormat, generator, t.Corpus.SHA256(), t.config))},
		tokenizerFileOf(t.Tokenizer),
	}, nil
}

// Save writes the state as a checkpoint into the directory at path, which is made where it is missing, and holds its lock
// meanwhile. Who saves more than once keeps a checkpoint.Dir open instead, so that no other process saves between. The
// machines of a Group all call it: rank 0 writes, and the others wait for that.
func (t *Trainer) Save(path string) error {
	if t == nil || t.Core == nil || t.Group == nil {
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
	files, err := t.Files()
	if err != nil {
		return err
	}
	dir, err := checkpoint.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Save(t.Done, files)
}

// Resume is NewTrainer in the state that cp holds. The configuration may differ from the saved one only where
// Config.ResumeDiff allows it; another corpus or vocabulary is an error. What of c is code, Parts and Hooks, is in no
// checkpoint: the same has to be handed in again, and where Hooks are not, the rest of the run is another without an error.
func Resume(c Config, corpus text.Corpus, tok text.Tokenizer, cp *checkpoint.Checkpoint) (*Trainer, error) {
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
