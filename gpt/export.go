package gpt

import (
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
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
	family, file, err := m.Config.family()
	if err != nil {
		return errors.Wrap(err, "export")
	}
	keys, err := family.Export(file)
	if err != nil {
		return errors.Wrap(err, "export")
	}
	layout := source{Config: m.Config, family: family}.layout()
	keys["torch_dtype"] = map[string]string{safetensors.F32: "float32", safetensors.BF16: "bfloat16"}[dtype]
	ends := published.Ends(tok)
	for key, id := range ends {
		keys[key] = id
	}
	ends["_from_model_config"] = true
	list := []checkpoint.File{
		{Name: train.WeightsFile, Write: func(w io.Writer) error {
			return m.reading(func() error {
				return train.WriteTensors(w, layout.Export(m.Params()), map[string]string{"format": "pt"}, dtype)
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
