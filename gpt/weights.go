package gpt

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	disk "github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// WriteWeights writes the parameters as a safetensors file under GPT-2's names. It returns an error if a number is not
// finite. All weights in the file are of the same moment: a Trainer in another goroutine waits with its next update
// until they are written to w.
func (m *Model) WriteWeights(w io.Writer) error {
	if err := m.loose(); err != nil {
		return err
	}
	return m.reading(func() error {
		metadata := map[string]string{"format": "pt"}
		return errors.Wrap(train.WriteTensors(w, m.ours().lay(m.Params()), metadata, ""), "weights")
	})
}

// reading calls read while no Trainer changes the weights.
func (m *Model) reading(read func() error) error {
	return m.Graph.Shared(func(graph.Reading) error { return read() })
}

// ReadWeights sets the parameters from a safetensors file: one written by WriteWeights, or a published GPT-2, whose
// names may have the prefix "transformer." and whose mask buffers are ignored. A missing parameter, a tensor that is
// not a parameter, a different shape, and a number that is not finite are errors, after which no parameter has changed.
func (m *Model) ReadWeights(data []byte) error {
	if err := m.loose(); err != nil {
		return err
	}
	f, err := safetensors.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return errors.Wrap(err, "weights")
	}
	if err := m.read(f, m.Params()); err != nil {
		return err
	}
	m.Graph.Exclusive(func() { m.merged = nil }) // the weights into which they were merged are gone
	return nil
}

// read sets exactly these parameters from a file of ours, or changes nothing. Decoders and writers in other goroutines
// see the parameters either before or after it.
func (m *Model) read(f *safetensors.File, params []graph.Expr) (err error) {
	source := m.ours()
	m.Graph.Exclusive(func() { err = train.Restore(source.lay(params), source.plain(f, m.ownHead())) })
	return errors.Wrap(err, "weights")
}

func (m *Model) ownHead() bool {
	_, own := m.Graph.Leaf(published.HeadWeight)
	return own
}

// fill sets exactly these parameters from a checkpoint of m's model, or of the model on which m is built. After an
// error some of them are set.
func (m *Model) fill(s source, cp *checkpoint.Checkpoint, params []graph.Expr) error {
	alone, err := adaptersAlone(cp, s.Config)
	if err != nil {
		return err
	}
	if alone {
		return errors.New("got adapters without the weights to which they belong: " +
			"FineTune and Trainer.Restore continue them")
	}
	f, err := train.OpenWeights(cp)
	if err == nil {
		err = train.Fill(s.lay(params), m.rest(s, s.plain(f, m.ownHead())))
	}
	if err == nil && !m.ownHead() {
		err = m.checkTied(s, f)
	}
	return errors.Wrap(err, "weights")
}

// numbered returns the parameters that have numbers, which are those that are not packed.
func (m *Model) numbered() []graph.Expr {
	return slices.DeleteFunc(slices.Clone(m.Params()), packed)
}

func packed(p graph.Expr) bool {
	t := p.Tensor()
	return t.Len() == 0
}

// rest returns the tensors of a file without those of packed parameters.
func (m *Model) rest(s source, f *safetensors.File) *safetensors.File {
	stored := slices.DeleteFunc(slices.Clone(m.Params()), func(p graph.Expr) bool { return !packed(p) })
	for _, t := range s.lay(stored) {
		f.Entries = slices.DeleteFunc(f.Entries, func(e safetensors.Entry) bool { return e.Name == t.Name })
	}
	return f
}

// store declares that g stores the matrices of a file as they are there. Types that no product reads become others:
// F16 float32, all others bfloat16, whose rounding is small beside their own.
func (s source) store(g *graph.Graph, f *gguf.File) error {
	like := s.planned().targeted().declare(graph.Outline(graph.Float32), 1)
	if err := like.Graph.Err(); err != nil {
		return err
	}
	for _, p := range like.Params() {
		matrix, ok := strings.CutSuffix(p.Name(), ".weight")
		if !ok || !p.Readable() {
			continue
		}
		var rows []graph.Rows
		for _, piece := range s.layout().Modules(matrix) {
			r, err := f.Rows(piece.Name+".weight", piece.Columns, piece.Part, piece.Parts)
			if err != nil {
				return err
			}
			rows = append(rows, r)
		}
		if err := g.StorePacked(p, rows...); err != nil {
			return err
		}
	}
	return nil
}

// checkTied returns an error if the file has a separate matrix of the head whose numbers differ from the token
// embedding, which m uses for both.
func (m *Model) checkTied(s source, f *safetensors.File) error {
	tokens, _ := m.Graph.Leaf("wte.weight")
	wte := tokens.Tensor()
	for _, e := range f.Entries {
		if !s.layout().IsHead(e.Name) {
			continue
		}
		if !slices.Equal(e.Shape, wte.Shape) {
			return errors.Errorf("%s has shape %v, the tokens of a tied model %v", e.Name, e.Shape, wte.Shape)
		}
		err := f.Values(e, func(at int, part safetensors.Tensor) error {
			for i, x := range (graph.Tensor{F32: part.F32, F64: part.F64}).Floats() {
				got, want := x, wte.At(at+i)
				if wte.F32 != nil {
					got = float64(float32(x))
				}
				if math.Float64bits(got) != math.Float64bits(want) {
					embedding := s.layout().FileName("wte.weight")
					return errors.Errorf("%s: entry %d is %v, that of %s is %v: "+
						"tie_word_embeddings is true, so both must be the same", e.Name, at+i, got, embedding, want)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ours returns the source that WriteWeights writes.
func (m *Model) ours() source { return source{Config: m.Config, family: published.Own()} }

// source describes where weights come from or go to: the network, the family of the files, and the number of learned
// positions in them, if it differs from the network's.
type source struct {
	Config
	family published.Family
	rows   int
}

// cropped returns s for sequences of blockSize tokens, at most the number of its positions.
func (s source) cropped(blockSize int) (source, error) {
	if blockSize < 1 || blockSize > s.BlockSize {
		return s, errors.Errorf("block_size: got %d, want 1 to %d, the number of the model's positions",
			blockSize, s.BlockSize)
	}
	if blockSize < s.BlockSize {
		s.rows, s.BlockSize = s.BlockSize, blockSize
	}
	if s.Options.Get("window") > blockSize {
		s.Options.Offer("window", blockSize)
	}
	return s, nil
}

// layout returns the layout of the tensors in the files.
func (s source) layout() published.Layout {
	return published.Layout{Family: s.family, Heads: s.heads(), Experts: s.planned().Experts.NumExperts, Rows: s.rows}
}

// lay returns the parameters as the tensors of a file.
func (s source) lay(params []graph.Expr) []train.Named { return s.layout().Tensors(params) }

// plain returns the tensors of a file that are parameters, under names without a prefix.
func (s source) plain(f *safetensors.File, ownHead bool) *safetensors.File {
	return s.layout().Parameters(f, ownHead)
}

// heads returns the layout of the columns of the attentions' projections.
func (c Config) heads() published.Heads {
	p := c.planned()
	groups := p.NHead
	if own := p.design.Attention.Groups; own != nil {
		groups = own(p.Stack)
	}
	h := published.Heads{Queries: p.NHead, Groups: groups, QK: p.QKSize, V: p.VSize}
	if p.Position == "rope" {
		h.Rotary = p.RotaryDim()
	}
	return h
}

// Export writes the model as the folder of a published GPT-2, LLaMA or another of published.Families, the first that it
// is, which other programs and Open can read. If dir exists, it must be an empty directory. dtype is the type of the
// numbers in the file, safetensors.F32 or safetensors.BF16. tok may be nil; other programs can read it only if it is a
// tokenizer of byte pairs or of characters. If no family can express the model, the error names the nearest one, and
// the fields in which they differ. A model with adapters is an error, too: use Merge and export the model that Plain
// returns. The template, which is optional, is that of LoadTemplate: its tokens at the beginning and end of texts, and
// its template of conversations, are written as well.
//
// If dir ends in .gguf, Export writes a GGUF file of that name, which must not exist. Then dtype is the type of its
// matrices, F32, F16, BF16, Q8_0 or Q4_0. Vectors, learned positions and routers are F32, and matrices whose rows do
// not fill the blocks of 32 numbers of Q8_0 and Q4_0 are F16.
func (m *Model) Export(dir string, tok text.Tokenizer, dtype string, template ...text.Template) error {
	return m.ExportContext(context.Background(), dir, tok, dtype, template...)
}

// ExportContext is Export that stops when ctx ends, and then leaves nothing behind. The error is the cause of ctx.
func (m *Model) ExportContext(
	ctx context.Context, dir string, tok text.Tokenizer, dtype string, template ...text.Template,
) error {
	if ctx == nil {
		return errors.New("export: got no context (nil)")
	}
	if err := m.loose(); err != nil {
		return err
	}
	if err := m.checkTokenizer(tok); err != nil {
		return errors.Wrap(err, "export")
	}
	of, known := gguf.TypeOf(dtype)
	switch toFile := strings.HasSuffix(dir, ".gguf"); {
	case toFile && !known:
		return errors.Errorf("export: dtype: got %.80q, want F32, F16, BF16, Q8_0 or Q4_0", dtype)
	case !toFile && dtype != safetensors.F32 && dtype != safetensors.BF16:
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
	var t text.Template
	if len(template) > 0 {
		t = template[0]
	}
	layout := source{Config: m.Config, family: family}.layout()
	if strings.HasSuffix(dir, ".gguf") {
		return errors.Wrap(m.exportGGUF(ctx, dir, tok, of, layout, keys, t), "export")
	}
	keys["torch_dtype"] = map[string]string{safetensors.F32: "float32", safetensors.BF16: "bfloat16"}[dtype]
	ends := endsOf(tok, t)
	maps.Copy(keys, ends)
	ends["_from_model_config"] = true
	list := []checkpoint.File{
		{Name: train.WeightsFile, Write: func(w io.Writer) error {
			return m.reading(func() error {
				tensors, metadata := layout.Export(m.Params()), map[string]string{"format": "pt"}
				return train.WriteTensors(until{ctx, w}, tensors, metadata, dtype)
			})
		}},
		{Name: configFile, Write: train.WriteJSON(keys)},
		{Name: generationFile, Write: train.WriteJSON(ends)},
	}
	if tok != nil {
		file := tokenizerFileOf(tok)
		list = append(list, file)
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

// endsOf returns the keys of the tokens at the beginning and end of texts: those of a template, or the usual ones.
func endsOf(tok text.Tokenizer, t text.Template) map[string]any {
	ends := published.Ends(tok)
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

// exportGGUF writes the model as a GGUF file with matrices of the given type.
func (m *Model) exportGGUF(
	ctx context.Context, path string, tok text.Tokenizer, of gguf.Type, layout published.Layout, keys map[string]any,
	t text.Template,
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
	return m.reading(func() error {
		for _, t := range train.InFile(layout.Export(m.Params())) {
			if err := t.Finite(); err != nil {
				return err
			}
			file.Tensors = append(file.Tensors, gguf.Source{Name: t[0].Name, Shape: t.Shape(), Values: t.Numbers})
		}
		if err := m.sameIn(file, layout.Family); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return disk.Replace(path, func(w io.Writer) error { return file.Write(until{ctx, w}) })
	})
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

// sameIn returns an error that names the fields of the network that the file does not express. What matters only in
// training is no reason to refuse it.
func (m *Model) sameIn(file gguf.Model, f published.Family) error {
	data, err := file.Reread()
	if err != nil {
		return err
	}
	read, err := readSource(data, m.Config.Parts)
	if err != nil {
		return err
	}
	if f.Biases { // those that the network lacks are 0
		read.Bias = m.Config.Bias
	}
	if read.Head != "tied" && m.Config.Head != "tied" { // that of the network has no bias in any family
		read.Head = m.Config.Head
	}
	read.Config = read.Config.Resolved()
	saved := read.networkFields()
	no := misfit{what: "a GGUF file of a " + f.ModelType + " has no such network:"}
	for _, got := range m.Config.networkFields().Without(
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
