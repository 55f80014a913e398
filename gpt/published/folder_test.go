package published_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/gpttest"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
	"github.com/pkg/errors"
)

// publishedGPT2 returns a small GPT-2 of random weights, its tokenizer, and the files of its folder.
func publishedGPT2(t testing.TB) (*gpt.Model, *bpe.Tokenizer, map[string][]byte) {
	t.Helper()
	tok, err := bpe.Train(gpttest.Verses, 270)
	if err != nil {
		t.Fatal(err)
	}
	c := gpttest.Tiny()
	c.QKSize, c.VSize, c.VocabSize, c.Bias, c.Head, c.Activation = 0, 0, 271, true, "tied", "gelu_tanh"
	m, err := gpt.New(gpttest.Graph(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Graph.SetTraining(false)
	gpttest.Scramble(m.Params(), 8)
	data, err := json.Marshal(tok)
	if err != nil {
		t.Fatal(err)
	}
	return m, tok, map[string][]byte{
		"config.json": []byte(`{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
			"bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
			"n_ctx": 8, "n_embd": 16, "n_head": 2, "n_layer": 2, "n_positions": 8, "resid_pdrop": 0.1, "summary_activation": null,
			"task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 271}`),
		"tokenizer.json":  data,
		train.WeightsFile: gpttest.Written(t, func(w *bytes.Buffer) error { return m.WriteWeights(w) }),
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
		out[name] = gpttest.Written(
			t, func(w *bytes.Buffer) error { return safetensors.Write(w, part, map[string]string{"format": "pt"}) },
		)
	}
	out[train.IndexFile], err = json.Marshal(
		map[string]any{"metadata": map[string]int{"total_size": 1}, "weight_map": index},
	)
	if err != nil {
		t.Fatal(err)
	}
	return out
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
		prefixed = append(prefixed,
			safetensors.Tensor{
				Name: "transformer." + h + "attn.bias", Shape: []int{1, 1, 8, 8}, F32: make([]float32, 64),
			},
			safetensors.Tensor{Name: "transformer." + h + "attn.masked_bias", Shape: []int{}, F32: []float32{-1e4}})
	}
	wte := slices.IndexFunc(prefixed, func(x safetensors.Tensor) bool { return x.Name == "transformer.wte.weight" })
	prefixed = append(
		prefixed, safetensors.Tensor{Name: published.HeadWeight, Shape: []int{271, 16}, F32: prefixed[wte].F32},
	)
	old := map[string][]byte{
		"config.json": files["config.json"], "tokenizer.json": files["tokenizer.json"],
		train.WeightsFile: encoded(t, prefixed),
	}
	wide := map[string][]byte{"config.json": files["config.json"], "tokenizer.json": files["tokenizer.json"]}
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
		"plain": folder(t, files), "sharded": folder(t, sharded(t, files)),
		"prefix, masks, a copied head": folder(t, old),
		"old and sharded":              folder(t, sharded(t, old)), "links": linked, "float64": folder(t, wide),
	} {
		got, gotTok, err := published.Open(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameWeights(t, got, m)
		if !slices.Equal(gpttest.Logits(t, got), gpttest.Logits(t, m)) {
			t.Errorf("%s: the logits are others", name)
		}
		ids, err := gotTok.Encode(gpttest.Verses)
		want, _ := tok.Encode(gpttest.Verses)
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%s: the tokens are others: %v", name, err)
		}
	}
}

// A model opened for shorter sequences computes the same for them.
func TestOpenCropped(t *testing.T) {
	m, _, files := publishedGPT2(t)
	whole := gpttest.Logits(t, m)
	trainer := gpttest.Trainer(t, gpttest.Tiny())
	ours := t.TempDir()
	if err := trainer.Save(ours); err != nil {
		t.Fatal(err)
	}
	short, _, err := published.OpenCropped(folder(t, files), 5)
	if err != nil {
		t.Fatal(err)
	}
	got := gpttest.Logits(t, short)
	if d := gpttest.Relative(got, whole[:5*271], 0); !(d <= 1e-6) || short.Config.BlockSize != 5 {
		t.Errorf("block_size %d, the logits are %v off", short.Config.BlockSize, d)
	}
	if short, _, err = published.OpenCropped(ours, 3); err != nil || short.Config.BlockSize != 3 {
		t.Errorf("a checkpoint of ours: %v", err)
	}
	for _, size := range []int{0, 9} {
		_, _, err = published.OpenCropped(folder(t, files), size)
		gpttest.MustContain(t, err, "block_size: got ", "want 1 to 8, the number")
	}
}

// A published model is fine-tuned like a checkpoint, also for shorter sequences.
func TestFineTuneFolder(t *testing.T) {
	m, tok, files := publishedGPT2(t)
	for _, size := range []int{0, 5} {
		var c gpt.Config
		c.Training, c.Run, c.LoraR = gpttest.Tiny().Training, gpttest.Tiny().Run, 2
		c.BlockSize = size
		data, err := text.NewCorpus(gpttest.Verses, tok, 8)
		if err != nil {
			t.Fatal(err)
		}
		cp, err := published.Load(folder(t, sharded(t, files)), published.Fits())
		if err != nil {
			t.Fatal(err)
		}
		tuned, err := gpt.FineTune(c, data, tok, sourceOf(t, cp))
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
		gpttest.Steps(t, tuned, 2)
		if _, _, err := published.Open(savedAt(t, tuned)); err != nil {
			t.Error(err)
		}
	}
	other, err := bpe.Train(gpttest.Verses+"zzzzz", 271)
	if err != nil {
		t.Fatal(err)
	}
	cp, err := published.Load(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	data, err := text.NewCorpus(gpttest.Verses, other, 8)
	if err != nil {
		t.Fatal(err)
	}
	var c gpt.Config
	c.Training, c.Run = gpttest.Tiny().Training, gpttest.Tiny().Run
	_, err = gpt.FineTune(c, data, other, sourceOf(t, cp))
	gpttest.MustContain(t, err, "another vocabulary")
}

func savedAt(t testing.TB, trainer *gpt.Trainer) string {
	t.Helper()
	dir := t.TempDir()
	if err := trainer.Save(dir); err != nil {
		t.Fatal(err)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "*", "tokenizer.json")); err != nil || len(list) != 1 ||
		strings.Contains(list[0], "*") {
		t.Errorf("byte pairs are not in %s: %v", "tokenizer.json", list)
	}
	return dir
}

// A folder that is not a model's is an error that names the file and the fault.
func TestFolderRefuses(t *testing.T) {
	m, _, good := publishedGPT2(t)
	weights := func(change func(list []safetensors.Tensor) []safetensors.Tensor) []byte {
		return encoded(t, change(decoded(t, m)))
	}
	config := func(old, new string) []byte {
		if !bytes.Contains(good["config.json"], []byte(old)) {
			t.Fatalf("no %s", old)
		}
		return bytes.Replace(good["config.json"], []byte(old), []byte(new), 1)
	}
	larger, err := bpe.Train(strings.Repeat(gpttest.Verses+"zyxwvutsrq", 3), 300)
	if err != nil {
		t.Fatal(err)
	}
	second := "model-00002-of-00002.safetensors"
	for _, tc := range []struct {
		change map[string][]byte // nil is no such file
		words  []string
	}{
		{map[string][]byte{"config.json": nil}, []string{"config.json is missing"}},
		{
			map[string][]byte{train.WeightsFile: nil, "other.safetensors": good[train.WeightsFile]},
			[]string{"model.safetensors: file does not exist"},
		},
		{map[string][]byte{"tokenizer.json": nil}, []string{"no tokenizer: tokenizer.json"}},
		{map[string][]byte{"tokenizer.json": nil, "vocab.json": []byte(`{"a": 0}`)}, []string{"merges.txt"}},
		{
			map[string][]byte{"tokenizer.json": []byte(`{"model": {"type": "Unigram"}}`)},
			[]string{"tokenizer.json", "type: got"},
		},
		{
			map[string][]byte{"tokenizer.json": []byte(`{"model": {"type": "BPE", "vocab": {"a": 0}}}`)},
			[]string{"tokenizer.json: pre_tokenizer: got none"},
		},
		{map[string][]byte{"tokenizer.json": []byte(`{"model": {"type": "BPE"}, "added_tokens": 7}`)},
			[]string{"tokenizer.json: line 1, column 44: added_tokens: got a number, want a list of objects"}},
		{map[string][]byte{
			"tokenizer.json": gpttest.Written(t, func(w *bytes.Buffer) error {
				return gpt.TokenizerFile(larger).Write(w)
			}),
		},
			[]string{"config.json", "vocab_size: got 271 in", "want at least the tokenizer's 300"}},
		{map[string][]byte{"config.json": []byte("{")}, []string{"config.json: "}},
		{
			map[string][]byte{"config.json": config(`"gpt2"`, `"bert"`)},
			[]string{"config.json: model_type: got bert, want one of gpt2, llama, qwen2"},
		},
		{
			map[string][]byte{"config.json": config(`"gelu_new"`, `"mish"`)},
			[]string{"config.json: activation_function: got mish, want"},
		},
		{
			map[string][]byte{"config.json": config(`"n_layer": 2`, `"n_layer": 3`)},
			[]string{"weights: h.2.ln_1.weight is missing"},
		},
		{
			map[string][]byte{"config.json": config(`"n_layer": 2`, `"n_layer": 1`)},
			[]string{"weights: the file has h.1.", "the model does not"},
		},
		{
			map[string][]byte{"config.json": config(`"n_layer": 2`, `"n_layer": 100000`)},
			[]string{"config.json: n_layer: got 100000 blocks, the weights have 28 tensors"},
		},
		{
			map[string][]byte{"config.json": config(`"vocab_size": 271`, `"vocab_size": 270`)},
			[]string{"wte.weight has shape [271 16] in the file, [270 16] in the model"},
		},
		// 3.2 GB
		{
			map[string][]byte{"config.json": config(`"vocab_size": 271`, `"vocab_size": 50000000`)},
			[]string{"[50000000 16] in the model"},
		},
		{map[string][]byte{"config.json": config(`"n_embd": 16`, `"n_embd": 100000000`)}, []string{"memory: got about"}},
		{map[string][]byte{
			train.WeightsFile: weights(func(l []safetensors.Tensor) []safetensors.Tensor {
				l[5].F32[3] = float32(math.NaN())
				return l
			}),
		},
			[]string{"weights: ", "entry 3", "not finite"}},
		{
			map[string][]byte{
				train.WeightsFile: weights(func(l []safetensors.Tensor) []safetensors.Tensor { return l[1:] }),
			},
			[]string{"weights: ", "is missing"},
		},
		{
			map[string][]byte{train.WeightsFile: []byte("not a file of tensors")},
			[]string{"model.safetensors: safetensors: header of"},
		},
		{map[string][]byte{
			train.WeightsFile: nil, second: good[train.WeightsFile], train.IndexFile: sharded(t, good)[train.IndexFile],
		},
			[]string{"model.safetensors.index.json", "model-00001-of-00002.safetensors: file does not exist"}},
		{map[string][]byte{
			train.WeightsFile: nil, train.IndexFile: []byte(`{"weight_map": {"wte.weight": "../../x"}}`),
		},
			[]string{"model.safetensors.index.json: weight_map: wte.weight: got file ../../x"}},
	} {
		files := maps.Clone(good)
		for name, data := range tc.change {
			if files[name] = data; data == nil {
				delete(files, name)
			}
		}
		dir := folder(t, files)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := published.Open(dir)
		runtime.ReadMemStats(&after)
		gpttest.MustContain(t, err, tc.words...)
		fuzzed.Plain(t, tc.words[0], err)
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%v: %d bytes allocated", tc.words, got)
		}
		if err != nil && (errors.Is(err, checkpoint.ErrNone) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v: it says that there is nothing, or takes lines: %v", tc.words, err)
		}
	}
	empty := t.TempDir()
	if _, _, err := published.Open(empty); !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("an empty directory: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(empty, "config.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := published.Open(empty); !errors.Is(err, checkpoint.ErrNone) ||
		!strings.Contains(err.Error(), "config.json without weights, .safetensors") {
		t.Errorf("a configuration alone, as of a run that has saved nothing: got %v", err)
	}
	if err := os.Remove(filepath.Join(empty, "config.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(empty, "model.safetensors"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err = published.Open(empty)
	gpttest.MustContain(t, err, "config.json is missing")
}

// A truncated file is refused, wherever it is cut, in both forms of the weights.
func TestFolderCut(t *testing.T) {
	_, _, good := publishedGPT2(t)
	for _, files := range []map[string][]byte{good, sharded(t, good)} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			data := files[name]
			step := len(data)/17 + 1
			if testing.Short() {
				step = len(data)/5 + 1
			}
			for n := 0; n < len(data); n += step {
				dir := folder(t, files)
				if err := os.Truncate(filepath.Join(dir, name), int64(n)); err != nil {
					t.Fatal(err)
				}
				_, _, err := published.Open(dir)
				if err == nil {
					t.Fatalf("%s of %d bytes, not %d: opened", name, n, len(data))
				}
				fuzzed.Plain(t, name, err)
			}
		}
	}
}

// A file of a folder that claims an excessive size is refused before memory is allocated for it.
func TestClaimedSizes(t *testing.T) {
	const tera = 1 << 40
	_, _, files := publishedGPT2(t)
	long := func(name string) func(string) error {
		return func(string) error {
			dir := folder(t, files)
			if err := os.Truncate(filepath.Join(dir, name), tera); err != nil {
				t.Skip("this file system has no files with holes:", err)
			}
			_, _, err := published.Open(dir)
			return err
		}
	}
	for want, open := range map[string]func(dir string) error{
		"config.json: got 1099511627776 bytes, want at most":    long("config.json"),
		"tokenizer.json: got 1099511627776 bytes, want at most": long("tokenizer.json"),
		"the tensors have": long(train.WeightsFile),
	} {
		gpttest.Frugal(t, open, want)
	}
}

// The number of heads that share keys and values comes from the part, whatever its name.
func TestGroupsOfOwnAttention(t *testing.T) {
	gqa := parts.Find(parts.Attentions(), "gqa")
	gqa.Name = "own"
	c := gpttest.Tiny()
	c.NHead, c.NEmbd, c.Attention, c.Parts.Attentions = 4, 16, "own", []parts.Attention{
		gqa, {Name: "gqa_not", New: parts.Find(parts.Attentions(), "causal").New},
	}
	c.Options.Set("n_kv_head", 2)
	if got := published.GroupsOf(c); got != 2 {
		t.Errorf("got %d groups, want 2", got)
	}
	if c.Attention = "gqa_not"; published.GroupsOf(c) != 4 {
		t.Errorf("got %d groups, want those of the 4 heads", published.GroupsOf(c))
	}
}

// Initializations belong to every family, and predictions of further tokens and another parametrization to none.
func TestModelType(t *testing.T) {
	for _, x := range parts.Initializations() {
		c := gpt.Shakespeare()
		c.VocabSize, c.Head = 65, "tied"
		c.With.Set("initialization", string(x.Name))
		if family, err := published.ModelType(c); err != nil || family != "gpt2" {
			t.Errorf("%q: got family %q and %v", x.Name, family, err)
		}
	}
	c := gpt.GPT2()
	c.FutureTokens = 3
	_, err := published.ModelType(c)
	gpttest.MustContain(t, err, "the nearest is gpt2", "n_future_tokens: got 3, want 1")
	c = gpttest.Tiny()
	c.VocabSize, c.Head, c.Parametrization, c.BaseWidth, c.QKSize, c.VSize = 41, "tied", "mup", 8, 0, 0
	_, err = published.ModelType(c)
	gpttest.MustContain(t, err, "parametrization: got mup, want standard")
}

// A published vocabulary may be padded to a multiple of 64: none of the tokens that the tokenizer lacks is drawn.
func TestPaddedVocabulary(t *testing.T) {
	c := gpttest.Networks()["qwen3"]
	c.VocabSize = 512
	tok, err := text.NewCharacters("abcdefg")
	if err != nil {
		t.Fatal(err)
	}
	dir := gpttest.Exported(t, gpttest.Model(t, c), tok, safetensors.F32)
	for _, crop := range []int{0, 3} {
		m, tok, err := published.Open(dir)
		if crop > 0 {
			m, tok, err = published.OpenCropped(dir, crop)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range m.Generate(t.Context(), tok, "a", 40, search.NewSampler(1)) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A folder says everything that it lacks at once, before its weights are read: whole files, the files of an index,
// damaged ones, and the number of missing tensors.
func TestFolderLacks(t *testing.T) {
	_, _, good := publishedGPT2(t)
	parts := sharded(t, good)
	index, first, second := train.IndexFile, "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
	for _, tc := range []struct {
		name  string
		files map[string][]byte // nil is no such file
		words []string
	}{
		{"config and tokenizer", map[string][]byte{"config.json": nil, "tokenizer.json": nil},
			[]string{"config.json is missing", "also lacks tokenizer.json (or vocab.json and merges.txt): "}},
		{"both shards and the tokenizer", map[string][]byte{
			first: nil, second: nil, train.WeightsFile: nil, index: parts[index], "tokenizer.json": nil,
		}, []string{"also lacks tokenizer.json", "2 of 2 files cannot be read: ", first + ": file does not exist",
			second + ": file does not exist"}},
		{"a shard is missing, the other is damaged", map[string][]byte{
			first: parts[first][:len(parts[first])-9], train.WeightsFile: nil, index: parts[index],
		}, []string{"2 of 2 files cannot be read: ", first + ": safetensors: ", second + ": file does not exist"}},
		{"a block", map[string][]byte{"config.json": bytes.Replace(good["config.json"], []byte(`"n_layer": 2`),
			[]byte(`"n_layer": 3`), 1)}, []string{"weights: h.2.ln_1.weight is missing (and 11 more)"}},
		{"one block less", map[string][]byte{"config.json": bytes.Replace(good["config.json"], []byte(`"n_layer": 2`),
			[]byte(`"n_layer": 1`), 1)}, []string{"weights: the file has h.1.", " (and 11 more), the model does not"}},
		{"weights and tokenizer", map[string][]byte{train.WeightsFile: nil, "tokenizer.json": nil},
			[]string{"also lacks ", "tokenizer.json"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := maps.Clone(good)
			for name, data := range tc.files {
				if files[name] = data; data == nil {
					delete(files, name)
				}
			}
			_, _, err := published.Open(folder(t, files))
			gpttest.MustContain(t, err, tc.words...)
		})
	}
	whole := folder(t, good)
	_, err := published.Load(whole, func(*checkpoint.Checkpoint) error { return errors.New("refused") })
	if err == nil || strings.Contains(err.Error(), "lacks") {
		t.Errorf("got %v, want only that it is refused", err)
	}
}
