package published

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	disk "github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// exportGGUF writes the model as a GGUF file with matrices of the given type.
func exportGGUF(
	ctx context.Context, path string, m *gpt.Model, tok text.Tokenizer, of gguf.Type, layout Layout,
	keys map[string]any,
	t chat.Template,
) error {
	maps.Copy(keys, endsOf(tok, t))
	file := gguf.Model{Type: of, Begin: t.Begin != "", Chat: t.Chat}
	if _, ok := specialOf(tok, t.Begin); file.Begin && !ok {
		return errors.Errorf("template: got %.64q at the beginning of texts, want a special token of the tokenizer",
			t.Begin)
	}
	var err error
	if file.Config, err = json.Marshal(keys); err != nil {
		return errors.WithStack(err)
	}
	if _, ok := tok.(*bpe.Tokenizer); tok != nil && !ok {
		return errors.New("tokenizer: a GGUF file holds one of byte pairs, got another kind;" +
			" a model that is trained with -tokenizer bpe can be exported")
	}
	if tok != nil {
		if file.Tokenizer, err = tok.MarshalJSON(); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Errorf("%s: there is something already, want a new name", path)
	}
	return m.Graph.Shared(func(graph.Reading) error {
		for _, t := range train.InFile(layout.export(m.Params())) {
			if err := t.Finite(); err != nil {
				return err
			}
			file.Tensors = append(file.Tensors, gguf.Source{Name: t[0].Name, Shape: t.Shape(), Values: t.Numbers})
		}
		if err := sameIn(m, file, layout.family); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return disk.Replace(path, func(w io.Writer) error { return file.Write(until{ctx, w}) })
	})
}

// sameIn returns an error that names the fields of the network that the file does not express. What matters only in
// training is no reason to refuse it.
func sameIn(m *gpt.Model, file gguf.Model, f family) error {
	data, err := file.Reread()
	if err != nil {
		return err
	}
	read, _, err := read(data, m.Config.Parts)
	if err != nil {
		return err
	}
	if f.biases { // those that the network lacks are 0
		read.Bias = m.Config.Bias
	}
	if read.Head != "tied" && m.Config.Head != "tied" { // no family has a bias of the head
		read.Head = m.Config.Head
	}
	read = read.Resolved()
	saved := read.NetworkFields()
	no := misfit{what: "a GGUF file of a " + f.modelType + " has no such network:"}
	for _, got := range m.Config.NetworkFields().Without(
		"dropout", "router_aux_loss_coef", "lora_r", "lora_alpha", "lora_targets", "lora_scale", "lora_fused",
	) {
		if want, _ := saved.Find(got.Name); got.String() != want.String() {
			no.differ = append(no.differ, difference{got.Name, got.String(), want.String()})
		}
	}
	if no.differ != nil {
		return no
	}
	return nil
}
