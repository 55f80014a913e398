package gpt

import (
	"io/fs"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// FineTune is NewTrainer on top of the weights of a checkpoint without adapters. Training, adapters and dropout are
// those of c; the rest of the network is the checkpoint's. c either leaves the network out, with n_embd 0, or agrees
// with it, except that its block_size may be smaller: then later positions are left out. tok is the checkpoint's
// tokenizer, with which the corpus must be encoded. If the run would exceed the memory limit, FineTune sets Recompute.
func FineTune(c Config, corpus text.Corpus, tok text.Tokenizer, cp *checkpoint.Checkpoint) (*Trainer, error) {
	if err := checkText(corpus, tok); err != nil {
		return nil, err
	}
	if cp == nil {
		return nil, errNoCheckpoint
	}
	saved, err := sourceOf(cp, c.Parts)
	if err != nil {
		return nil, err
	}
	if c.BlockSize > 0 && c.BlockSize < saved.BlockSize {
		if saved, err = saved.cropped(c.BlockSize); err != nil {
			return nil, err
		}
	}
	if c.NEmbd == 0 {
		saved.Dropout = c.Dropout
		c = c.OnNetwork(saved.Network)
	}
	if c.VocabSize == 0 {
		c.VocabSize = tok.Size()
	}
	if err := c.sameNetwork(saved.Config); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	if saved.LoraR > 0 {
		return nil, errors.Errorf("checkpoint %s: lora_r: got %d as saved, want 0: merge its adapters first",
			cp.Path, saved.LoraR)
	}
	// A model alone may have no tokenizer.
	if err := checkTokenizer(cp, tok); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c.Recompute = c.Recompute || c.Memory() > float64(c.Limit())
	t, err := trainerAt(c, corpus, tok, 0, func(name string) bool { return !adapterName(name) })
	if err != nil {
		return nil, err
	}
	base := slices.DeleteFunc(slices.Clone(t.Model.Params()), isAdapter)
	// The adapters keep their initial values, whose product is 0, so the model computes the same as the checkpoint's.
	return t, errors.Wrapf(t.Model.fill(saved, cp, base), "checkpoint %s", cp.Path)
}

// OnNetwork returns c with the network n, but with c's adapters.
func (c Config) OnNetwork(n Network) Config {
	n.Adapters = c.Adapters
	c.Network = n
	return c
}

// sameNetwork returns an error that names every field of the network in which c differs, except dropout and adapters.
func (c Config) sameNetwork(saved Config) error {
	own := []string{"dropout", "lora_r", "lora_alpha", "lora_targets", "lora_scale"}
	c, saved = c.Resolved(), saved.Resolved()
	return c.networkFields().Without(own...).Diff("fine-tune", saved.networkFields())
}

// Merge adds every adapter to its weight, w + s·d·u, and sets u to 0: the model computes the same function. A second
// Merge changes nothing.
func (m *Model) Merge() {
	if m == nil {
		return
	}
	m.Graph.Exclusive(m.merge)
}

// merge is Merge for a caller that holds the weights exclusively.
func (m *Model) merge() {
	if a := m.inUse.unchanged(m.adapters); a != nil {
		m.merged = append(m.merged, a)
	}
	m.inUse = inUse{}
	for _, l := range m.adapters {
		l.Merge()
	}
}

// Plain returns a model for batches of batch sequences that shares the weights of m and has no adapters. After Merge it
// computes what m computed with its adapters.
func (m *Model) Plain(batch int) (*Model, error) {
	if err := m.loose(); err != nil {
		return nil, err
	}
	c := m.Config
	c.Adapters = Adapters{}
	return New(m.Graph.Sibling(), c, batch)
}

// Files returns a checkpoint of the model alone, which LoadModel and programs that read Hugging Face's files can load.
// tok may be nil; it is an error if it has more tokens than the model has logits. The weights are read when their file
// is written.
func (m *Model) Files(tok text.Tokenizer) ([]checkpoint.File, error) {
	if err := m.loose(); err != nil {
		return nil, err
	}
	if err := m.checkTokenizer(tok); err != nil {
		return nil, err
	}
	hf, err := m.Config.HuggingFace()
	if err != nil {
		return nil, err
	}
	list := []checkpoint.File{
		{Name: train.WeightsFile, Write: m.WriteWeights},
		{Name: configFile, Write: train.WriteBytes(hf)},
	}
	if tok != nil {
		list = append(list, tokenizerFileOf(tok))
	}
	return list, nil
}
