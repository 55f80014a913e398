package gpt

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/fuzzed"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// A folder that is not a model's is an error that names the file and the fault.
func TestFolderRefuses(t *testing.T) {
	m, _, good := publishedGPT2(t)
	weights := func(change func(list []safetensors.Tensor) []safetensors.Tensor) []byte {
		return encoded(t, change(decoded(t, m)))
	}
	config := func(old, new string) []byte {
		if !bytes.Contains(good[configFile], []byte(old)) {
			t.Fatalf("no %s", old)
		}
		return bytes.Replace(good[configFile], []byte(old), []byte(new), 1)
	}
	larger, err := bpe.Train(strings.Repeat(verses+"zyxwvutsrq", 3), 300)
	if err != nil {
		t.Fatal(err)
	}
	second := "model-00002-of-00002.safetensors"
	for _, tc := range []struct {
		change map[string][]byte // nil is no such file
		words  []string
	}{
		{map[string][]byte{configFile: nil}, []string{"config.json is missing"}},
		{map[string][]byte{train.WeightsFile: nil, "other.safetensors": good[train.WeightsFile]}, []string{"model.safetensors: file does not exist"}},
		{map[string][]byte{tokenizerFile: nil}, []string{"no tokenizer: tokenizer.json"}},
		{map[string][]byte{tokenizerFile: nil, "vocab.json": []byte(`{"a": 0}`)}, []string{"merges.txt"}},
		{map[string][]byte{tokenizerFile: []byte(`{"model": {"type": "Unigram"}}`)}, []string{"tokenizer.json", "type: got"}},
		{map[string][]byte{tokenizerFile: []byte(`{"model": {"type": "BPE", "vocab": {"a": 0}}}`)}, []string{"tokenizer.json: pre_tokenizer: got none"}},
		{map[string][]byte{tokenizerFile: []byte(`{"model": {"type": "BPE"}, "added_tokens": 7}`)},
			[]string{"tokenizer.json: line 1, column 44: added_tokens: got a number, want a list of objects"}},
		{map[string][]byte{tokenizerFile: written(t, func(w *bytes.Buffer) error { return tokenizerFileOf(larger).Write(w) })},
			[]string{"config.json", "vocab_size: got 271 in", "want at least the tokenizer's 300"}},
		{map[string][]byte{configFile: []byte("{")}, []string{"config.json: "}},
		{map[string][]byte{configFile: config(`"gpt2"`, `"mamba"`)}, []string{"config.json: model_type: got mamba, want gpt2, llama or qwen2"}},
		{map[string][]byte{configFile: config(`"gelu_new"`, `"mish"`)}, []string{"config.json: activation_function: got mish, want"}},
		{map[string][]byte{configFile: config(`"n_layer": 2`, `"n_layer": 3`)}, []string{"weights: h.2.ln_1.weight is missing"}},
		{map[string][]byte{configFile: config(`"n_layer": 2`, `"n_layer": 1`)}, []string{"weights: the file has h.1.", "the model does not"}},
		{map[string][]byte{configFile: config(`"n_layer": 2`, `"n_layer": 100000`)}, []string{"config.json: n_layer: got 100000 blocks, the weights have 28 tensors"}},
		{map[string][]byte{configFile: config(`"vocab_size": 271`, `"vocab_size": 270`)}, []string{"wte.weight has shape [271 16] in the file, [270 16] in the model"}},
		{map[string][]byte{configFile: config(`"vocab_size": 271`, `"vocab_size": 50000000`)}, []string{"[50000000 16] in the model"}}, // 3.2 GB
		{map[string][]byte{configFile: config(`"n_embd": 16`, `"n_embd": 100000000`)}, []string{"memory: got about"}},
		{map[string][]byte{train.WeightsFile: weights(func(l []safetensors.Tensor) []safetensors.Tensor { l[5].F32[3] = float32(math.NaN()); return l })},
			[]string{"weights: ", "entry 3", "not finite"}},
		{map[string][]byte{train.WeightsFile: weights(func(l []safetensors.Tensor) []safetensors.Tensor { return l[1:] })}, []string{"weights: ", "is missing"}},
		{map[string][]byte{train.WeightsFile: []byte("not a file of tensors")}, []string{"model.safetensors: safetensors: header of"}},
		{map[string][]byte{train.WeightsFile: nil, second: good[train.WeightsFile], train.IndexFile: sharded(t, good)[train.IndexFile]},
			[]string{"model.safetensors.index.json", "model-00001-of-00002.safetensors: file does not exist"}},
		{map[string][]byte{train.WeightsFile: nil, train.IndexFile: []byte(`{"weight_map": {"wte.weight": "../../x"}}`)},
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
		_, _, err := Open(dir)
		runtime.ReadMemStats(&after)
		mustContain(t, err, tc.words...)
		fuzzed.Plain(t, tc.words[0], err)
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%v: %d bytes allocated", tc.words, got)
		}
		if err != nil && (errors.Is(err, checkpoint.ErrNone) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v: it says that there is nothing, or takes lines: %v", tc.words, err)
		}
	}
	empty := t.TempDir()
	if _, _, err := Open(empty); !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("an empty directory: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(empty, configFile), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(empty); !errors.Is(err, checkpoint.ErrNone) || !strings.Contains(err.Error(), "config.json without weights, .safetensors") {
		t.Errorf("a configuration alone, as of a run that has saved nothing: got %v", err)
	}
	if err := os.Remove(filepath.Join(empty, configFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(empty, "model.safetensors"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(empty)
	mustContain(t, err, "config.json is missing")
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
				_, _, err := Open(dir)
				if err == nil {
					t.Fatalf("%s of %d bytes, not %d: opened", name, n, len(data))
				}
				fuzzed.Plain(t, name, err)
			}
		}
	}
}
