package gpt

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// publishedGPT2 returns a small GPT-2 of random weights, its tokenizer, and the files of its folder.
func publishedGPT2(t testing.TB) (*Model, *bpe.Tokenizer, map[string][]byte) {
	t.Helper()
	tok, err := bpe.Train(verses, 270)
	if err != nil {
		t.Fatal(err)
	}
	c := tiny()
	c.QKSize, c.VSize, c.VocabSize, c.Bias, c.Head, c.Activation = 0, 0, 271, true, "tied", "gelu_tanh"
	m, err := New(emptyGraph(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Graph.SetTraining(false)
	scramble(m.Params(), 8)
	data, err := json.Marshal(tok)
	if err != nil {
		t.Fatal(err)
	}
	return m, tok, map[string][]byte{
		configFile: []byte(`{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
			"bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
			"n_ctx": 8, "n_embd": 16, "n_head": 2, "n_layer": 2, "n_positions": 8, "resid_pdrop": 0.1, "summary_activation": null,
			"task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 271}`),
		tokenizerFile:     data,
		train.WeightsFile: written(t, func(w *bytes.Buffer) error { return m.WriteWeights(w) }),
	}
}

// folder returns a directory with these files.
func folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sharded moves every other tensor of a file into a second one, and writes their index.
func sharded(t testing.TB, files map[string][]byte) map[string][]byte {
	t.Helper()
	list, _, err := safetensors.Read(files[train.WeightsFile])
	if err != nil {
		t.Fatal(err)
	}
	index := map[string]string{}
	parts := map[string][]safetensors.Tensor{}
	for i, tensor := range list {
		name := []string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}[i%2]
		index[tensor.Name], parts[name] = name, append(parts[name], tensor)
	}
	out := map[string][]byte{}
	for name, data := range files {
		if name != train.WeightsFile {
			out[name] = data
		}
	}
	for name, part := range parts {
		out[name] = written(t, func(w *bytes.Buffer) error { return safetensors.Write(w, part, map[string]string{"format": "pt"}) })
	}
	out[train.IndexFile], err = json.Marshal(map[string]any{"metadata": map[string]int{"total_size": 1}, "weight_map": index})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// thought returns the logits of a model for the first tokens of its vocabulary.
func thought(t testing.TB, m *Model) []float64 {
	t.Helper()
	for i := range m.Tokens.Ints() {
		m.Tokens.Ints()[i] = i * 7 % m.Config.VocabSize
	}
	p, err := graph.Compile(m.Logits)
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.Value().Floats()
}

// A published folder opens with any names of its tensors and other files next to them, in one file or several, and if
// its files are links.
func TestOpenFolder(t *testing.T) {
	m, tok, files := publishedGPT2(t)
	prefixed := slices.Clone(decoded(t, m))
	for i := range prefixed {
		prefixed[i].Name = "transformer." + prefixed[i].Name
	}
	for _, h := range []string{"h.0.", "h.1."} {
		prefixed = append(prefixed, safetensors.Tensor{Name: "transformer." + h + "attn.bias", Shape: []int{1, 1, 8, 8}, F32: make([]float32, 64)},
			safetensors.Tensor{Name: "transformer." + h + "attn.masked_bias", Shape: []int{}, F32: []float32{-1e4}})
	}
	wte := slices.IndexFunc(prefixed, func(x safetensors.Tensor) bool { return x.Name == "transformer.wte.weight" })
	prefixed = append(prefixed, safetensors.Tensor{Name: published.HeadWeight, Shape: []int{271, 16}, F32: prefixed[wte].F32})
	old := map[string][]byte{configFile: files[configFile], tokenizerFile: files[tokenizerFile], train.WeightsFile: encoded(t, prefixed)}
	wide := map[string][]byte{configFile: files[configFile], tokenizerFile: files[tokenizerFile]}
	doubles := decoded(t, m)
	for i, f := range doubles {
		doubles[i].F32, doubles[i].F64 = nil, graph.Tensor{F32: f.F32}.Floats()
	}
	wide[train.WeightsFile] = encoded(t, doubles)
	linked := t.TempDir()
	for name := range files {
		if err := os.Symlink(filepath.Join(folder(t, files), name), filepath.Join(linked, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	for name, dir := range map[string]string{
		"plain": folder(t, files), "sharded": folder(t, sharded(t, files)), "prefix, masks, a copied head": folder(t, old),
		"old and sharded": folder(t, sharded(t, old)), "links": linked, "float64": folder(t, wide),
	} {
		got, gotTok, err := Open(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameWeights(t, got, m)
		if !slices.Equal(thought(t, got), thought(t, m)) {
			t.Errorf("%s: the logits are others", name)
		}
		ids, err := gotTok.Encode(verses)
		want, _ := tok.Encode(verses)
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%s: the tokens are others: %v", name, err)
		}
	}
}

// A model opened for shorter sequences computes the same for them.
func TestOpenCropped(t *testing.T) {
	m, _, files := publishedGPT2(t)
	whole := thought(t, m)
	trainer := newTrainer(t, tiny())
	ours := t.TempDir()
	if err := trainer.Save(ours); err != nil {
		t.Fatal(err)
	}
	short, _, err := OpenCropped(folder(t, files), 5)
	if err != nil {
		t.Fatal(err)
	}
	got := thought(t, short)
	if d := relative(got, whole[:5*271], 0); !(d <= 1e-6) || short.Config.BlockSize != 5 {
		t.Errorf("block_size %d, the logits are %v off", short.Config.BlockSize, d)
	}
	if short, _, err = OpenCropped(ours, 3); err != nil || short.Config.BlockSize != 3 {
		t.Errorf("a checkpoint of ours: %v", err)
	}
	for _, size := range []int{0, 9} {
		_, _, err = OpenCropped(folder(t, files), size)
		mustContain(t, err, "block_size: got ", "want 1 to 8, the number")
	}
}

// A published model is fine-tuned like a checkpoint, also for shorter sequences.
func TestFineTuneFolder(t *testing.T) {
	m, tok, files := publishedGPT2(t)
	for _, size := range []int{0, 5} {
		var c Config
		c.Training, c.Run, c.LoraR = tiny().Training, tiny().Run, 2
		c.BlockSize = size
		data, err := text.NewCorpus(verses, tok, 8)
		if err != nil {
			t.Fatal(err)
		}
		cp, err := checkpoint.Load(folder(t, sharded(t, files)), Fits())
		if err != nil {
			t.Fatal(err)
		}
		tuned, err := FineTune(c, data, tok, cp)
		if err != nil {
			t.Fatal(err)
		}
		cp.Close()
		if got, want := tuned.Config().BlockSize, max(size, 8-8*size); got != want {
			t.Errorf("block_size: got %d, want %d", got, want)
		}
		x, y := tuned.Model.Params()[0].Tensor(), m.Params()[0].Tensor()
		if !slices.Equal(x.F32, y.F32) {
			t.Error("wte.weight is another")
		}
		steps(t, tuned, 2)
		if _, _, err := Open(savedAt(t, tuned)); err != nil {
			t.Error(err)
		}
	}
	other, err := bpe.Train(verses+"zzzzz", 271)
	if err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	mustContain(t, checkTokenizer(cp, other), "another vocabulary")
}

func savedAt(t testing.TB, trainer *Trainer) string {
	t.Helper()
	dir := t.TempDir()
	if err := trainer.Save(dir); err != nil {
		t.Fatal(err)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "*", tokenizerFile)); err != nil || len(list) != 1 || strings.Contains(list[0], "*") {
		t.Errorf("byte pairs are not in %s: %v", tokenizerFile, list)
	}
	return dir
}
