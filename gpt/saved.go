package gpt

import (
	"cmp"
	"io"
	"io/fs"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// The files of a checkpoint, beside the tokenizer and the files of package train.
const (
	configFile = "config.json" // Hugging Face's names
	baseFile   = "base.json"   // the model with which a run of FineTune began
)

var errNoCheckpoint = errors.New("checkpoint: got nil, want one from checkpoint.Load")

// LoadTokenizer opens the tokenizer of a checkpoint. It returns an error if the checkpoint has none. own holds the
// kinds of user-defined tokenizers, and Kind of gpt/text/bpe.
func LoadTokenizer(cp *checkpoint.Checkpoint, own ...text.Kind) (text.Tokenizer, error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	name, data, err := tokenizerOf(cp)
	if err != nil {
		return nil, err
	}
	tok, err := text.Open(data, own...)
	return tok, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, name)
}

// checkTokenizer returns an error if tok is not the checkpoint's tokenizer.
func checkTokenizer(cp *checkpoint.Checkpoint, tok text.Tokenizer) error {
	name, data, err := tokenizerOf(cp)
	if err != nil {
		return err
	}
	return errors.Wrapf(text.Match(tok, data), "checkpoint %s: %s", cp.Path, name)
}

// tokenizerOf returns the tokenizer of a checkpoint in a form that text.Open reads, and the name of its file.
func tokenizerOf(cp *checkpoint.Checkpoint) (name string, data []byte, err error) {
	for _, name := range text.FileNames() {
		if data, err = cp.File(name); !errors.Is(err, fs.ErrNotExist) {
			return name, data, err
		}
	}
	return "", nil, errors.Wrapf(fs.ErrNotExist, "checkpoint %s: no tokenizer: %s", cp.Path, text.FileNames()[1])
}

// TokenizerFile returns the file of a tokenizer in a checkpoint.
func TokenizerFile(tok text.Tokenizer) checkpoint.File {
	return checkpoint.File{Name: text.FileName(tok), Write: func(w io.Writer) error {
		data, err := tok.MarshalJSON()
		if err != nil {
			return err
		}
		if len(data) > checkpoint.MaxFile {
			return errors.Errorf("got %d bytes, want at most %d", len(data), checkpoint.MaxFile)
		}
		return train.WriteBytes(data)(w)
	}}
}

// Files returns the complete state of the run, for checkpoint.Dir.Save. The tensors are read when their files are
// written. It is an error then if a step has been done since, or if weights or moments are not finite.
func (t *Trainer) Files() ([]checkpoint.File, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	_, files, err := t.files(t.Model.WriteWeights)
	return files, err
}

// base is the model with which a run of FineTune began.
type base struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the bytes of WriteAdapters
}

// TuningFiles is Files for a run of FineTune, which Restore continues. With adapters the files hold these alone, and
// not the weights to which they belong. They also hold path, where the model is with which the run began, and the hash
// of its weights.
func (t *Trainer) TuningFiles(path string) ([]checkpoint.File, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.base == "" {
		return nil, errors.New("trainer: it began with no other model, want one from FineTune")
	}
	write := t.Model.WriteWeights
	if t.config.LoraR > 0 {
		write = func(w io.Writer) error {
			return t.Model.reading(func() error { return t.Model.writeAdapters(w, map[string]string{"format": "pt"}) })
		}
	}
	_, list, err := t.files(write)
	return append(list, checkpoint.File{Name: baseFile, Write: train.WriteJSON(base{path, t.base})}), err
}

// baseOf returns the model with which the run of a checkpoint began, empty if there was none.
func baseOf(cp *checkpoint.Checkpoint) (b base, err error) {
	err = train.ReadJSON(cp, baseFile, maxState, &b)
	if errors.Is(err, fs.ErrNotExist) {
		return base{}, nil
	}
	return b, err
}

// adaptersAlone reports whether a checkpoint holds adapters without the weights to which they belong.
func adaptersAlone(cp *checkpoint.Checkpoint, c Config) (bool, error) {
	b, err := baseOf(cp)
	return b.SHA256 != "" && c.LoraR > 0, err
}

// Restore sets t, which has done no step, to the state that cp holds, of TuningFiles or of Files. It is Resume for
// trainers of FineTune and for those with a loss of their own. The configuration may differ from the saved one only
// where Config.ResumeDiff allows it. Another corpus, vocabulary or model to begin with is an error. After an error t
// must not be used.
func (t *Trainer) Restore(cp *checkpoint.Checkpoint) error {
	if err := t.check(); err != nil {
		return err
	}
	if cp == nil {
		return errNoCheckpoint
	}
	if t.Done != 0 {
		return errors.Errorf("trainer: got one that has done %d steps, want a new one to restore", t.Done)
	}
	s, err := t.config.saved(t.Corpus, t.Tokenizer, cp)
	if err != nil {
		return err
	}
	began, err := baseOf(cp)
	if err != nil {
		return err
	}
	if began.SHA256 != "" && began.SHA256 != t.base {
		return errors.Errorf("checkpoint %s: the run began with the model %s, whose weights have sha256 %s, "+
			"this one has %s", cp.Path, field.Clip(began.Path), field.Clip(began.SHA256), cmp.Or(t.base, "none"))
	}
	params := t.Model.Params()
	alone, err := adaptersAlone(cp, t.config)
	if err != nil {
		return errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	if alone {
		params = t.Model.candidates()
	}
	f, err := train.OpenWeights(cp)
	if err == nil {
		err = t.Model.read(f, params)
	}
	if err == nil {
		err = s.Restore(t.Core, cp)
	}
	return errors.Wrapf(err, "checkpoint %s", cp.Path)
}

// saved returns the state of a checkpoint that c, a text and a tokenizer continue.
func (c Config) saved(
	corpus text.Corpus, tok text.Tokenizer, cp *checkpoint.Checkpoint,
) (s train.State[Config], err error) {
	if s, err = readState(cp, c.Parts); err != nil {
		return s, err
	}
	if err := c.continuing(s.Config).ResumeDiff(s.Config); err != nil {
		return s, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	if got := corpus.SHA256(); got != s.Corpus {
		return s, errors.Errorf("checkpoint %s: trained on the text with sha256 %s, this one has %s",
			cp.Path, field.Clip(s.Corpus), got)
	}
	return s, checkTokenizer(cp, tok)
}

// continuing returns c with the defaults that NewTrainer and FineTune have set in the saved run, or have not in one of
// an earlier version.
func (c Config) continuing(saved Config) Config {
	if c.Experts.RouterAuxLossCoef == 0 {
		c.Experts.RouterAuxLossCoef = saved.Experts.RouterAuxLossCoef
	}
	c.LoraFused = c.LoraFused || saved.LoraFused // the names of the tensors tell, too
	return c
}

// files returns the number of steps done and the list of Files, with weights that write writes.
func (t *Trainer) files(write func(io.Writer) error) (step int, list []checkpoint.File, err error) {
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
	list = append(t.Core.Files(s.Step, write, s), TokenizerFile(t.Tokenizer))
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
	step, files, err := t.files(t.Model.WriteWeights)
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
	s, err := c.saved(corpus, tok, cp)
	if err != nil {
		return nil, err
	}
	c = c.continuing(s.Config)
	t, err := trainerAt(c, corpus, tok, s.Step, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	if err = t.Model.fill(Source{Config: c, Checkpoint: cp}, t.Model.Params()); err == nil {
		err = s.Restore(t.Core, cp)
	}
	return t, errors.Wrapf(err, "checkpoint %s", cp.Path)
}

// FineTune is NewTrainer on top of the weights of a model without adapters. c sets the training, the adapters and the
// dropout, and the model sets the rest of the network. c either leaves the network out, with n_embd 0, or agrees with
// the model, except that its block_size may be smaller: then later positions are left out. tok is the model's
// tokenizer, with which the corpus must be encoded. If the run would exceed the memory limit, FineTune sets Recompute.
func FineTune(c Config, corpus text.Corpus, tok text.Tokenizer, from Source) (t *Trainer, err error) {
	if err := checkText(corpus, tok); err != nil {
		return nil, err
	}
	cp := from.Checkpoint
	if cp == nil {
		return nil, errNoCheckpoint
	}
	if c.BlockSize > 0 && c.BlockSize < from.Config.BlockSize {
		if from, err = from.Crop(c.BlockSize); err != nil {
			return nil, err
		}
	}
	from.Config.Parts = c.Parts
	saved := from.Config
	if c.NEmbd == 0 {
		saved.Dropout = c.Dropout
		c = c.onNetwork(saved.Network)
	}
	if c.VocabSize == 0 {
		c.VocabSize = tok.Size()
	}
	if err := c.sameNetwork(saved); err != nil {
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
	c.LoraFused = c.LoraFused && (from.Separate == nil || !from.Separate(from.Config))
	c.Recompute = c.Recompute || c.Memory() > float64(c.Limit())
	t, err = trainerAt(c, corpus, tok, 0, func(name string) bool { return !adapterName(name) })
	if err != nil {
		return nil, err
	}
	weights := slices.DeleteFunc(slices.Clone(t.Model.Params()), isAdapter)
	// The adapters keep their initial values, whose product is 0, so the model computes the same as the checkpoint's.
	if err := t.Model.fill(from, weights); err != nil {
		return t, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	t.base = t.Model.baseSHA256()
	return t, nil
}

// onNetwork returns c with the network n, but with c's adapters.
func (c Config) onNetwork(n Network) Config {
	n.Adapters = c.Adapters
	c.Network = n
	return c
}

// sameNetwork returns an error that names every field of the network in which c differs, except dropout and adapters.
func (c Config) sameNetwork(saved Config) error {
	own := []string{"dropout", "lora_r", "lora_alpha", "lora_targets", "lora_scale", "lora_fused"}
	c, saved = c.Resolved(), saved.Resolved()
	return c.NetworkFields().Without(own...).Diff("fine-tune", saved.NetworkFields())
}
