package published_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/gpttest"
	"github.com/pedestrian-ml/pedestrian/gpt/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// looped returns small networks of every family that GGUF files may hold, and of every preset. The embeddings of two in
// three have more rows than the tokenizer has tokens, as in Qwen and Pythia.
func looped(t *testing.T) (map[string]gpt.Config, *bpe.Tokenizer) {
	t.Helper()
	all, tok := inGGUF(t)
	for _, p := range gpt.Presets() {
		c := p.Config
		if c.NEmbd == 0 {
			continue
		}
		c.NLayer, c.NHead, c.NEmbd, c.NInner = 2, 4, 64, 96
		if c.Attention == "gqa" {
			c.Options.Set("n_kv_head", 2)
		}
		all["preset "+p.Name] = c
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		c, like := all[name], gpttest.Tiny()
		c.BlockSize, c.VocabSize, c.Dropout = 32, tok.Size()+5*(i%3), 0
		c.Options.Offer("window", 16)
		c.Training, c.Run = like.Training, like.Run
		c.BatchSize, c.GradientAccumulationSteps = 4, 1
		all[name] = c
		if strings.HasPrefix(name, "preset") {
			all[name] = fitting(t, c, tok)
		}
	}
	return all, tok
}

// fitting returns c with the flags that the error of an export names, if there is one.
func fitting(t *testing.T, c gpt.Config, tok text.Tokenizer) gpt.Config {
	t.Helper()
	m, err := gpt.New(gpttest.Graph(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	err = published.Export(t.Context(), filepath.Join(t.TempDir(), "model.gguf"), m, tok, "F32", chat.Template{})
	if err == nil {
		return c
	}
	for line := range strings.Lines(err.Error()) {
		if len(line) > 100 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
	_, flags, _ := strings.Cut(err.Error(), "trained with ")
	flags, _, ok := strings.Cut(flags, " can be exported")
	words := strings.Fields(flags)
	if !ok || len(words)%2 != 0 {
		t.Fatalf("got %v, want an error with flags", err)
	}
	for i := 0; i < len(words); i += 2 {
		f, ok := c.NetworkFields().Find(strings.TrimPrefix(words[i], "-"))
		if !ok {
			t.Fatalf("%v: there is no flag %s", err, words[i])
		}
		if err := f.Parse(words[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return fitting(t, c, tok)
}

// continued returns the likeliest continuation of a prompt.
func continued(t *testing.T, m *gpt.Model, tok text.Tokenizer, prompt string, n int) (ids []int) {
	t.Helper()
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := tok.Encode(prompt)
	if err != nil {
		t.Fatal(err)
	}
	greedy := search.NewSampler(1)
	greedy.Temperature = 0
	for token, err := range d.Generate(t.Context(), [][]int{asked}, n, []*search.Sampler{greedy}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, token.ID)
	}
	return ids
}

// loaded returns the checkpoint at a path, which is closed at the end of the test.
func loaded(t *testing.T, path string) *checkpoint.Checkpoint {
	t.Helper()
	cp, err := published.Load(path, published.Fits())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	return cp
}

// A model lives through everything: it is trained, saved, resumed, exported, tuned, resumed again, used with its
// adapter, merged, written as a GGUF file of every type, opened there, and continues a prompt with the same tokens. If
// PEDESTRIAN_LLAMA names a folder in which npm has installed node-llama-cpp, models are trained until they know the
// text, and llama.cpp continues it with the same tokens.
func TestLoop(t *testing.T) {
	dir, most := os.Getenv("PEDESTRIAN_LLAMA"), 4
	if dir != "" {
		most = 300
	}
	const prompt, n = "And what I", 12
	configs, tok := looped(t)
	s := strings.Repeat(gpttest.Verses, 3)
	dtypes := []string{"F32", "F16", "BF16", "Q8_0", "Q4_0"}
	want, files := map[string][]int{}, t.TempDir()
	for i, name := range slices.Sorted(maps.Keys(configs)) {
		types := dtypes
		if dir == "" { // TestFamiliesLive and TestGGUF have the other families, in parts
			types = []string{dtypes[i%len(dtypes)]}
			if i%6 > 0 && !strings.HasPrefix(name, "preset") {
				continue
			}
		}
		t.Run(name, func(t *testing.T) {
			m := lived(t, configs[name], tok, s, most)
			whole := continued(t, m, tok, prompt, n)
			for _, dtype := range types {
				path := filepath.Join(files, fmt.Sprint(name, " ", dtype, ".gguf"))
				if err := published.Export(t.Context(), path, m, tok, dtype, chat.Template{}); err != nil {
					t.Fatal(err)
				}
				stored, storedTok, err := published.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				if storedTok.Size() != tok.Size() {
					t.Errorf("%s: got %d tokens, want %d", dtype, storedTok.Size(), tok.Size())
				}
				if ends, err := published.LoadEnds(loaded(t, path)); err != nil || len(ends) > 0 {
					t.Errorf("%s: got the ends %v, %v, want none", dtype, ends, err)
				}
				want[path] = continued(t, stored, storedTok, prompt, n)
				if dtype == "F32" && !slices.Equal(want[path], whole) {
					t.Errorf("%s: got %v, want %v", dtype, want[path], whole)
				}
			}
		})
	}
	if dir == "" {
		return
	}
	asked, err := tok.Encode(prompt)
	if err != nil {
		t.Fatal(err)
	}
	paths := slices.Sorted(maps.Keys(want))
	for i, answer := range byLlamaCpp(t, dir, "llama_text.mjs", append([]string{prompt, fmt.Sprint(n)}, paths...)...) {
		name := strings.TrimSuffix(filepath.Base(paths[i]), ".gguf")
		var got struct{ Asked, Drawn []int }
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Errorf("%s: llama.cpp: %s", name, answer)
		} else if !slices.Equal(got.Asked, asked) || !slices.Equal(got.Drawn, want[paths[i]]) {
			t.Errorf(
				"%s: llama.cpp continues %v with %v, want %v with %v", name, got.Asked, got.Drawn, asked,
				want[paths[i]],
			)
		}
	}
}

// lived returns a model that was trained, resumed, exported, tuned, opened with its adapter, and merged.
func lived(t *testing.T, c gpt.Config, tok text.Tokenizer, s string, most int) *gpt.Model {
	t.Helper()
	data, err := text.NewCorpus(s, tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	c.MaxIters, c.LRDecayIters, c.LearningRate, c.WarmupIters = most, most, 5e-3, 1
	first, err := gpt.NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	gpttest.Steps(t, first, most/2)
	run := t.TempDir()
	if err := first.Save(run); err != nil {
		t.Fatal(err)
	}
	trainer, err := gpt.Resume(c, data, tok, loaded(t, run))
	if err != nil {
		t.Fatal(err)
	}
	for range 10 { // some know the text later than others
		if done := gpttest.Steps(t, trainer, most/2); most < 10 || done[len(done)-1].Loss < 0.5 {
			break
		}
	}
	folder := gpttest.Exported(t, trainer.Model, tok, safetensors.F32)
	tuning := gpt.LoRATuning()
	tuning.LoraR, tuning.MaxIters, tuning.BatchSize, tuning.GradientAccumulationSteps = 4, most, 2, 1
	begun, err := gpt.FineTune(tuning, data, tok, sourceOf(t, loaded(t, folder)))
	if err != nil {
		t.Fatal(err)
	}
	gpttest.Steps(t, begun, most/4)
	list, err := begun.TuningFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	cp := gpttest.Saved(t, begun.Done, list)
	tuned, err := gpt.FineTune(tuning, data, tok, sourceOf(t, loaded(t, folder)))
	if err == nil {
		err = tuned.Restore(cp)
	}
	if err != nil {
		t.Fatal(err)
	}
	gpttest.Steps(t, tuned, most/2-most/4)
	a := adapterOf(t, tuned.Model)
	base, _, err := published.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	with, err := peft.Adapted(base, 1, a)
	if err == nil {
		err = with.Use(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	with.Merge()
	plain, err := with.Plain(1)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// byLlamaCpp returns the lines that a program of testdata prints in the folder with node-llama-cpp.
func byLlamaCpp(t *testing.T, dir, program string, args ...string) (answers []json.RawMessage) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", program))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(
		t.Context(), "node", append([]string{"--input-type=module", "-e", string(script), "--"}, args...)...,
	)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		answers = append(answers, json.RawMessage(bytes.TrimSpace(line)))
	}
	return answers
}
