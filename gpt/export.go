package gpt

import (
	"io"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Export writes the model as the folder of a published GPT-2, LLaMA or Qwen2, whichever it is, which other programs and
// Open can read. If dir exists, it must be an empty directory. dtype is the type of the numbers in the file,
// safetensors.F32 or safetensors.BF16. tok may be nil; other programs can read it only if it is a tokenizer of byte
// pairs. If no family can express the model, the error names the first such field for each family. A model with
// adapters is an error, too: use Merge and export the model that Plain returns.
func (m *Model) Export(dir string, tok text.Tokenizer, dtype string) error {
	if err := m.loose(); err != nil {
		return err
	}
	if err := m.checkTokenizer(tok); err != nil {
		return errors.Wrap(err, "export")
	}
	if dtype != safetensors.F32 && dtype != safetensors.BF16 {
		return errors.Errorf("export: dtype: got %.80q, want F32 or BF16", dtype)
	}
	family, keys, err := m.Config.family()
	if err != nil {
		return errors.Wrap(err, "export")
	}
	keys["torch_dtype"] = map[string]string{safetensors.F32: "float32", safetensors.BF16: "bfloat16"}[dtype]
	ends := endsOf(tok)
	for key, id := range ends {
		keys[key] = id
	}
	ends["_from_model_config"] = true
	list := []checkpoint.File{
		{Name: train.WeightsFile, Write: func(w io.Writer) error {
			return m.reading(func() error {
				return train.WriteTensors(w, m.published(family), map[string]string{"format": "pt"}, dtype)
			})
		}},
		{Name: configFile, Write: train.WriteJSON(keys)},
		{Name: generationFile, Write: train.WriteJSON(ends)},
	}
	if tok != nil {
		file := tokenizerFileOf(tok)
		list = append(list, file)
		if file.Name == tokenizerFile {
			about := map[string]any{
				"model_max_length": m.Config.BlockSize,
				"tokenizer_class":  "PreTrainedTokenizerFast",
			}
			list = append(list, checkpoint.File{Name: "tokenizer_config.json", Write: train.WriteJSON(about)})
		}
	}
	return errors.Wrap(checkpoint.WriteFolder(dir, list), "export")
}

// Family returns the model_type, gpt2, llama or qwen2, under which Export writes a network like c. If there is none,
// the error names, for each family, the first field that it has no key for.
func (c Config) Family() (modelType string, err error) {
	if err := c.ValidateModel(); err != nil {
		return "", err
	}
	f, _, err := c.Resolved().family()
	return f.modelType, err
}

// family returns the family of c, which must be resolved, and its config.json.
func (c Config) family() (family, map[string]any, error) {
	var reasons []string
	for _, f := range families() {
		keys, err := f.write(c)
		if err == nil {
			return f, keys, nil
		}
		reasons = append(reasons, f.modelType+": "+err.Error())
	}
	return family{}, nil, errors.Errorf("the network is of no published family: %s", strings.Join(reasons, "; "))
}

// published returns the tensors of the family's files. A GPT-2 has biases everywhere: those that the model lacks are 0.
func (m *Model) published(f family) []train.Named {
	list := source{Config: m.Config, names: f.names}.lay(m.Params())
	if f.modelType == gpt2().modelType && !m.Config.Bias {
		for _, t := range slices.Clone(list) {
			name, ok := strings.CutSuffix(t.Name, ".weight")
			if ok && (inBlock(name) || name == "ln_f") {
				width := t.Shape[len(t.Shape)-1]
				zeros := graph.Tensor{Shape: []int{width}, F32: make([]float32, width)}
				list = append(list, train.Named{Name: name + ".bias", Tensor: zeros})
			}
		}
	}
	for i, t := range list {
		list[i].Name = f.names.Written(t.Name)
	}
	return list
}

// endsOf returns the tokens at a text's beginning and end, which are null if the vocabulary has none of the usual ones.
func endsOf(tok text.Tokenizer) map[string]any {
	ends := map[string]any{"bos_token_id": nil, "eos_token_id": nil}
	known, ok := tok.(interface{ Special(string) (int, bool) })
	if !ok {
		return ends
	}
	for key, names := range map[string][]string{
		"bos_token_id": {"<|endoftext|>", "<s>", "<|begin_of_text|>"},
		"eos_token_id": {"<|endoftext|>", "</s>", "<|end_of_text|>"},
	} {
		for _, name := range names {
			if id, has := known.Special(name); has && ends[key] == nil {
				ends[key] = id
			}
		}
	}
	return ends
}
