package gpt

import (
	"encoding/json"
	"io/fs"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Open returns the model of the newest intact checkpoint in dir, as LoadModel does, and its tokenizer. dir may also be
// the directory of one checkpoint, or the folder of a published model. own holds the user-defined variants of the
// program that saved it, including its tokenizers, if any. To read only the model or only the tokenizer, or to use a
// graph with other settings, call LoadModel and LoadTokenizer.
//
// dir may also be a GGUF file, whose name ends in .gguf. Its matrices of F32, BF16, Q8_0 and Q4_0 stay in the mapped
// file, which must not change while the model is in use; those of F16 become F32, and those of other types BF16. The
// model is then like one of [Model.Packed]: for decoding and measuring. LoadModel reads such a file into numbers.
func Open(dir string, own ...parts.Registry) (*Model, text.Tokenizer, error) {
	return openModel(dir, uncropped, parts.Join(own...))
}

// OpenCropped is like Open, but returns a model for shorter sequences of blockSize tokens, without the weights of later
// positions. Masks and tables of positions are smaller then, and training needs less memory.
func OpenCropped(dir string, blockSize int, own ...parts.Registry) (*Model, text.Tokenizer, error) {
	return openModel(dir, cropTo(blockSize), parts.Join(own...))
}

// cut returns the part of a source that is read.
type cut func(source) (source, error)

func uncropped(s source) (source, error) { return s, nil }

func cropTo(blockSize int) cut { return func(s source) (source, error) { return s.cropped(blockSize) } }

func openModel(dir string, crop cut, own parts.Registry) (*Model, text.Tokenizer, error) {
	cp, err := checkpoint.Load(dir, fits(crop, own))
	if err != nil {
		return nil, nil, err
	}
	defer cp.Close()
	tok, err := LoadTokenizer(cp, own.Tokenizers...)
	if err != nil {
		return nil, nil, err
	}
	m, err := loadModel(graph.New(graph.Float32, 1), cp, crop, own, cp.GGUF)
	if err != nil {
		return nil, nil, err
	}
	if tok.Size() > m.Config.VocabSize {
		return nil, nil, errors.Errorf("checkpoint %s: vocab_size: got %d in %s, want at least the tokenizer's %d",
			cp.Path, m.Config.VocabSize, configFile, tok.Size())
	}
	return m, tok, nil
}

// LoadModel builds the model of a checkpoint for inference: on an empty Graph, for batches of one, and without dropout
// until [graph.Graph.SetTraining] switches it on. The checkpoint may also be a model alone, or a published one:
// config.json of a family that FromHuggingFace supports, and model.safetensors, or several files and their index. own
// holds the user-defined variants of the program that saved it, if any. As in NewTrainer, it is an error if one of them
// looks ahead.
func LoadModel(g *graph.Graph, cp *checkpoint.Checkpoint, own ...parts.Registry) (*Model, error) {
	return loadModel(g, cp, uncropped, parts.Join(own...), nil)
}

// LoadCropped is LoadModel for shorter sequences of blockSize tokens, as OpenCropped is Open.
func LoadCropped(g *graph.Graph, cp *checkpoint.Checkpoint, blockSize int, own ...parts.Registry) (*Model, error) {
	return loadModel(g, cp, cropTo(blockSize), parts.Join(own...), nil)
}

// loadModel is LoadModel. The matrices in stored, which may be nil, stay there.
func loadModel(
	g *graph.Graph, cp *checkpoint.Checkpoint, crop cut, own parts.Registry, stored *gguf.File,
) (*Model, error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	s, err := sourceOf(cp, own)
	if err != nil {
		return nil, err
	}
	if s, err = crop(s); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	if stored != nil {
		if err := s.store(g, stored); err != nil {
			return nil, errors.Wrapf(err, "file %s", cp.Path)
		}
	}
	g.SetBlank(func(string) bool { return true }) // all parameters are read from the checkpoint
	m, err := New(g, s.Config, 1)
	g.SetBlank(nil)
	if err != nil {
		return nil, err
	}
	g.SetTraining(false)
	if err := m.fill(s, cp, m.numbered()); err != nil {
		return m, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	return m, errors.Wrapf(m.checkCausal(m.Config.Parts.Bidirectional), "checkpoint %s", cp.Path)
}

// Fits returns the condition for loading checkpoints of this package. A checkpoint is skipped before it is read if its
// tensors differ in the total of their numbers from its configuration, or if its other files are larger than
// checkpoint.MaxFile. A published model must have the tensors of its configuration, by name and shape. own holds the
// user-defined variants of the program that saved the checkpoint, if any.
func Fits(own ...parts.Registry) checkpoint.Fit {
	return fits(uncropped, parts.Join(own...))
}

func fits(crop cut, own parts.Registry) checkpoint.Fit {
	return func(cp *checkpoint.Checkpoint) error {
		all, err := sourceOf(cp, own)
		if err != nil {
			return err
		}
		s, err := crop(all)
		if err != nil {
			return err
		}
		if cp.Published {
			return s.matches(cp)
		}
		_, o, err := all.validated()
		if err != nil {
			return err
		}
		numbers := o.base + o.adapters
		alone, err := adaptersAlone(cp, all.Config)
		if err != nil {
			return err
		}
		if alone {
			numbers = o.adapters
		}
		size := float64(all.BlockSize)
		most := 8 * max(size*size, float64(s.VocabSize)*float64(s.NEmbd)) // bytes of a mask, or of a tied head
		return train.Fit(cp, numbers, func(e safetensors.Entry) bool {
			return s.layout().Skips(e.Name, o.ownHead) && float64(e.Bytes()) <= most
		})
	}
}

// matches returns an error unless s is valid and the headers of the weights contain what it declares.
func (s source) matches(cp *checkpoint.Checkpoint) error {
	if err := s.validate(); err != nil {
		return errors.Wrap(err, configFile)
	}
	f, err := train.OpenWeights(cp)
	if err != nil {
		return err
	}
	if s.NLayer > len(f.Entries) { // do not declare more blocks than the file can have
		return errors.Errorf("%s: n_layer: got %d blocks, the weights have %d tensors",
			configFile, s.NLayer, len(f.Entries))
	}
	m := s.planned().targeted().declare(graph.Outline(graph.Float32), 1)
	if err := m.Graph.Err(); err != nil {
		return err
	}
	_, err = train.Match(s.lay(m.Params()), s.plain(f, m.ownHead()).Entries)
	return errors.Wrap(err, "weights")
}

// validate is ValidateModel of a network that computes with kernels: whether it does is up to the graph on which it is
// built.
func (s source) validate() error {
	s.Kernels = true
	return s.ValidateModel()
}

// sourceOf returns the source of the weights of a checkpoint, either of a run or of a model alone.
func sourceOf(cp *checkpoint.Checkpoint, own parts.Registry) (s source, err error) {
	if _, missing := cp.File(train.StateFile); missing == nil {
		state, err := readState(cp, own)
		state.Config.MemoryLimit = 0 // that of the saved run, perhaps on another machine
		return source{Config: state.Config, family: published.Own()}, err
	}
	data, err := cp.File(configFile)
	if err != nil {
		return s, err
	}
	s, err = readSource(data, own)
	return s, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, configFile)
}

// readSource returns the contents of a config.json, without validating them.
func readSource(data []byte, own parts.Registry) (s source, err error) {
	if s.family, err = published.FamilyOf(data); err != nil {
		return source{}, err
	}
	s.Parts = own
	if err := s.family.Read(data, s.networkFields(), s.known().Activations); err != nil {
		return source{}, err
	}
	if s.Head == "linear" && s.Bias && !s.family.HeadBias {
		s.Head = unbiasedHead
	}
	return s, nil
}

// LoadEnds returns the tokens with which a published model ends a text or a turn, for text.Until, and for Generate and
// Beam of a decode.Session. It reads eos_token_id of generation_config.json or, if that has none, of config.json. The
// checkpoint of a run has no such tokens. Ids outside the vocabulary, which are never drawn, are left out.
func LoadEnds(cp *checkpoint.Checkpoint) (ids []int, err error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	for _, name := range []string{generationFile, configFile} {
		data, err := cp.File(name)
		if name == generationFile && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			ids, err = published.ReadEnds(data)
		}
		if err != nil {
			return nil, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, name)
		}
		if len(ids) > 0 {
			s, err := sourceOf(cp, parts.Registry{})
			return slices.DeleteFunc(ids, func(id int) bool { return id < 0 || id >= s.VocabSize }), err
		}
	}
	return nil, nil
}

// LoadTemplate returns the template of conversations of a published model: that of tokenizer_config.json, or of
// chat_template.jinja if the folder has such a file. The token that a text begins with is that of these files or, if
// they do not say whether there is one, that of the post-processor of tokenizer.json. Without these files, as in the
// checkpoint of a run, the template is empty.
func LoadTemplate(cp *checkpoint.Checkpoint) (t text.Template, err error) {
	if cp == nil {
		return t, errNoCheckpoint
	}
	settings, err := cp.File(settingsFile)
	if errors.Is(err, fs.ErrNotExist) {
		settings, err = []byte("{}"), nil
	}
	if err != nil {
		return t, err
	}
	chat, err := cp.File(chatFile)
	switch {
	case err == nil:
		settings, err = withChat(settings, chat)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		t, err = text.ReadTemplate(settings)
	}
	if err != nil {
		return t, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, settingsFile)
	}
	var said struct {
		AddBegin *bool `json:"add_bos_token"`
	}
	if err = field.UnmarshalPart(settings, &said); err == nil && t.Begin == "" && said.AddBegin == nil {
		t.Begin, err = loadBegin(cp)
	}
	return t, err
}

// loadBegin returns the token that the post-processor of tokenizer.json puts before a text, or "".
func loadBegin(cp *checkpoint.Checkpoint) (string, error) {
	data, err := cp.File(tokenizerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	begin, err := bpe.Begin(data)
	return begin, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, tokenizerFile)
}

// withChat returns a tokenizer_config.json with another template.
func withChat(settings, chat []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := field.Unmarshal(settings, &all); err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(string(chat))
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	all["chat_template"] = quoted
	return json.Marshal(all)
}

const stateFormat = 1

// maxState is the size of the largest state that is read, in bytes.
const maxState = 1 << 20

func readState(cp *checkpoint.Checkpoint, own parts.Registry) (s train.State[Config], err error) {
	s.Config.Parts = own // its options are keys of the state
	if err = train.ReadJSON(cp, train.StateFile, maxState, &s); err != nil {
		return s, err
	}
	return s, s.Check(cp, stateFormat)
}
