package gpt

import (
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// FineTune is NewTrainer on top of the weights of a checkpoint: those of a model without adapters go into the model that c
// describes, with or without adapters of its own, whose sizes and parts are the checkpoint's. tok is the checkpoint's
// tokenizer, and the corpus is encoded with it. Dropout, adapters and training are c's.
func FineTune(c Config, corpus *text.Corpus, tok *text.Tokenizer, cp *checkpoint.Checkpoint) (*Trainer, error) {
	if c.VocabSize == 0 {
		c.VocabSize = tok.Size()
	}
	saved, err := configOf(cp, c.Parts)
	if err != nil {
		return nil, err
	}
	if err := c.sameNetwork(saved); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	if saved.LoraR > 0 {
		return nil, errors.Errorf("checkpoint %s: lora_r: got %d as saved, want 0: merge its adapters first", cp.Path, saved.LoraR)
	}
	if own, err := tokenizerOf(cp); err != nil {
		return nil, err
	} else if own != nil && !sameVocabulary(own, tok) {
		return nil, errors.Errorf("checkpoint %s: its vocabulary of %d tokens is not the given one of %d", cp.Path, own.Size(), tok.Size())
	}
	t, err := NewTrainer(c, corpus, tok)
	if err != nil {
		return nil, err
	}
	data, err := cp.File(weightsFile)
	if err != nil {
		return nil, err
	}
	return t, errors.Wrapf(t.Model.readBase(data), "checkpoint %s", cp.Path)
}

// sameNetwork names every field of the network in which c differs, dropout and adapters apart.
func (c Config) sameNetwork(saved Config) error {
	own := []string{"dropout", "lora_r", "lora_alpha", "lora_targets", "lora_scale"}
	c, saved = c.Resolved(), saved.Resolved()
	return c.networkFields().Without(own...).Diff("fine-tune", saved.networkFields())
}

// readBase is ReadWeights for weights without adapters in a model that has them: these stay as they are, at first a
// product of 0, so that the model computes what the weights' own model does.
func (m *Model) readBase(data []byte) error {
	return m.read(data, slices.DeleteFunc(slices.Clone(m.Params()), isAdapter))
}

// WriteAdapters writes the adapters alone as a safetensors file: all that fine-tuning has learned. It is an error if the
// model has none.
func (m *Model) WriteAdapters(w io.Writer) error {
	if m.Config.LoraR == 0 {
		return errors.New("adapters: the model has none, lora_r is 0")
	}
	return m.write(w, m.Trainable())
}

// ReadAdapters sets the adapters from a file of WriteAdapters, of exactly this model's names and shapes.
func (m *Model) ReadAdapters(data []byte) error {
	if m.Config.LoraR == 0 {
		return errors.New("adapters: the model has none, lora_r is 0")
	}
	return m.read(data, m.Trainable())
}

// Merge adds every adapter to the weight beside it, w + s·d·u, and sets u to 0: the same function.
func (m *Model) Merge() {
	for _, l := range m.adapters {
		l.Merge()
	}
}

// Plain is a model of the same weights without adapters, for batches of so many sequences: after Merge, what the model
// was with them. The weights are shared.
func (m *Model) Plain(batch int) (*Model, error) {
	return New(m.Graph.Sibling(), m.Config.withoutAdapters(), batch)
}

func (c Config) withoutAdapters() Config {
	c.Adapters = Adapters{}
	return c
}

// Files are a checkpoint of the model alone, to be loaded by LoadModel and by programs that know Hugging Face's files. tok
// may be nil.
func (m *Model) Files(tok *text.Tokenizer) ([]checkpoint.File, error) {
	hf, err := m.Config.HuggingFace()
	if err != nil {
		return nil, err
	}
	list := []checkpoint.File{{Name: weightsFile, Write: m.WriteWeights}, {Name: configFile, Write: raw(hf)}}
	if tok != nil {
		list = append(list, checkpoint.File{Name: tokenizerFile, Write: indented(tok)})
	}
	return list, nil
}
