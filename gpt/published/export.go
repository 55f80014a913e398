package published

import (
	"context"
	"io"
	"maps"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Export writes a model as the folder of a GPT-2, LLaMA or another of Families, the first that it is, which other
// programs and Open can read. If dir exists, it must be an empty directory. dtype is the type of the numbers in the
// file, safetensors.F32 or safetensors.BF16. tok may be nil; other programs can read it only if it is a tokenizer of
// byte pairs or of characters. If no family can express the model, the error names the nearest one, and the fields in
// which they differ. A model with adapters is an error, too: use Merge and export the model that Plain returns. t holds
// the tokens at the beginning and end of texts and the template of conversations, which are written as well;
// LoadTemplate returns it for a published model, and it may be empty. When ctx ends, Export leaves nothing behind, and
// the error is the cause of ctx.
//
// If dir ends in .gguf, Export writes a GGUF file of that name, which must not exist. Then dtype is the type of its
// matrices, F32, F16, BF16, Q8_0 or Q4_0. Vectors, learned positions and routers are F32, and matrices whose rows do
// not fill the blocks of 32 numbers of Q8_0 and Q4_0 are F16.
func Export(
	ctx context.Context, dir string, m *gpt.Model, tok text.Tokenizer, dtype string, t chat.Template,
) error {
	if ctx == nil {
		return errors.New("export: got no context (nil)")
	}
	if err := m.CheckNumbers(); err != nil {
		return err
	}
	if tok != nil && tok.Size() > m.Config.VocabSize {
		return errors.Errorf("export: tokenizer: got %d tokens, want at most the model's vocab_size %d",
			tok.Size(), m.Config.VocabSize)
	}
	of, known := gguf.TypeOf(dtype)
	switch toFile := strings.HasSuffix(dir, ".gguf"); {
	case toFile && !known:
		return errors.Errorf("export: dtype: got %.80q, want F32, F16, BF16, Q8_0 or Q4_0", dtype)
	case !toFile && dtype != safetensors.F32 && dtype != safetensors.BF16:
		return errors.Errorf("export: dtype: got %.80q, want F32 or BF16", dtype)
	}
	family, file, err := familyOf(m.Config)
	if err != nil {
		return errors.Wrap(err, "export")
	}
	keys, err := family.export(file)
	if err != nil {
		return errors.Wrap(err, "export")
	}
	layout := layoutOf(m.Config, family)
	if strings.HasSuffix(dir, ".gguf") {
		return errors.Wrap(exportGGUF(ctx, dir, m, tok, of, layout, keys, t), "export")
	}
	keys["torch_dtype"] = map[string]string{safetensors.F32: "float32", safetensors.BF16: "bfloat16"}[dtype]
	ends := endsOf(tok, t)
	maps.Copy(keys, ends)
	ends["_from_model_config"] = true
	list := []checkpoint.File{
		{Name: train.WeightsFile, Write: func(w io.Writer) error {
			return m.Graph.Shared(func(graph.Reading) error {
				tensors, metadata := layout.export(m.Params()), map[string]string{"format": "pt"}
				return train.WriteTensors(until{ctx, w}, tensors, metadata, dtype)
			})
		}},
		{Name: configFile, Write: train.WriteJSON(keys)},
		{Name: generationFile, Write: train.WriteJSON(ends)},
	}
	if tok != nil {
		list = append(list, gpt.TokenizerFile(tok))
		if c, ok := tok.(*text.Characters); ok { // Open reads the other file
			list = append(list, checkpoint.File{Name: tokenizerFile, Write: writeCharacters(c)})
		}
		if list[len(list)-1].Name == tokenizerFile {
			about := map[string]any{
				"model_max_length": m.Config.BlockSize,
				"tokenizer_class":  "PreTrainedTokenizerFast",
			}
			for key, value := range map[string]string{
				"bos_token": t.Begin, "eos_token": t.End, "chat_template": t.Chat,
			} {
				if value != "" {
					about[key] = value
				}
			}
			if t.Begin != "" {
				about["add_bos_token"] = true
			}
			list = append(list, checkpoint.File{Name: "tokenizer_config.json", Write: train.WriteJSON(about)})
		}
	}
	return errors.Wrap(checkpoint.WriteFolder(dir, list), "export")
}

// endsOf returns the keys of the tokens at the beginning and end of texts: a template's tokens, or the usual ones.
func endsOf(tok text.Tokenizer, t chat.Template) map[string]any {
	ends := tokenEnds(tok)
	for key, name := range map[string]string{"bos_token_id": t.Begin, "eos_token_id": t.End} {
		if id, ok := specialOf(tok, name); ok {
			ends[key] = id
		}
	}
	return ends
}

// specialOf returns the id of a special token.
func specialOf(tok text.Tokenizer, name string) (id int, ok bool) {
	if known, has := tok.(interface{ Special(string) (int, bool) }); has {
		return known.Special(name)
	}
	return 0, false
}

// until is a writer whose Write fails when its context ends.
type until struct {
	ctx context.Context
	io.Writer
}

// Write writes p, unless the context has ended.
func (u until) Write(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Writer.Write(p)
}
