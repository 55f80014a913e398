package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// tiny makes -train quick.
var tiny = []string{
	"-max_iters", "1", "-n_layer", "1", "-n_head", "2", "-n_embd", "32", "-n_inner", "64", "-block_size", "8",
	"-batch_size", "2",
}

// What -train trains by default, and as a LLaMA, is exported to every type. A model with parts that no published family
// has is trained too, after a note, and used; its export is refused in short lines, with the flags of one that can be.
func TestTrainsWhatExports(t *testing.T) {
	dir, data := t.TempDir(), written(t, strings.Repeat("the hen has a nest\n", 40))
	train := append([]string{"-train", data, "-tokenizer", "train:260"}, tiny...)
	for name, more := range map[string][]string{"default": nil, "llama": {"-preset", "llama"}} {
		called(t, slices.Concat(train, more, []string{"-out_dir", dir + "/" + name})...)
		for _, dtype := range []string{"F32", "F16", "BF16", "Q8_0", "Q4_0"} {
			path := dir + "/" + name + dtype + ".gguf"
			if out := called(
				t, "-model", dir+"/"+name, "-export", path, "-dtype", dtype,
			); strings.Contains(out, "F16, because") {
				t.Errorf("%s: got %q, want only matrices of %s", name, out, dtype)
			}
			called(t, "-model", path, "-tokens", "2", "-prompt", "the hen")
		}
	}
	var said bytes.Buffer
	modern := slices.Concat(train, []string{"-preset", "modern", "-out_dir", dir + "/modern"})
	if err := run(t.Context(), modern, io.Discard, &said); err != nil ||
		!strings.Contains(said.String(), "only this library reads") {
		t.Fatalf("got %v, printed %q, want a note that other programs do not read the folder", err, said.String())
	}
	called(t, "-model", dir+"/modern", "-tokens", "2", "-prompt", "the hen")
	for want, args := range map[string][]string{
		"the nearest is llama:\n  short_conv: got canon_ac, want none\na model that is trained with -short_conv " +
			"none can be exported": {dir + "/modern"},
		"a GGUF file of a gpt2 has no such network:\n  activation: got gelu, want gelu_tanh\n": {dir +
			"/exact", "-preset", "shakespeare"},
	} {
		if len(args) > 1 {
			called(t, slices.Concat(train, args[1:], []string{"-out_dir", args[0]})...)
		}
		err := run(t.Context(), []string{"-model", args[0], "-export", dir + "/x.gguf"}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
			continue
		}
		for line := range strings.Lines(err.Error()) {
			if len(line) > 90 {
				t.Errorf("a line of %d characters: %q", len(line), line)
			}
		}
	}
}

// The vocabulary is the tokenizer's, whatever the preset's is, unless the flag asks for more rows.
func TestTrainVocabulary(t *testing.T) {
	data := written(t, strings.Repeat("the hen has a nest\n", 40))
	for want, more := range map[int][]string{260: nil, 264: {"-vocab_size", "264"}} {
		dir := t.TempDir()
		called(
			t,
			slices.Concat(
				[]string{"-train", data, "-preset", "stories15m", "-tokenizer", "train:260", "-out_dir", dir}, tiny,
				more,
			)...,
		)
		m, tok, err := published.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if m.Config.VocabSize != want || tok.Size() != 260 {
			t.Errorf("got a vocabulary of %d for %d tokens, want %d", m.Config.VocabSize, tok.Size(), want)
		}
	}
}

// An export makes the folder of its file. When its context ends it stops, and leaves nothing.
func TestExportStops(t *testing.T) {
	model, dir := made(t), t.TempDir()
	path := filepath.Join(dir, "new", "model.gguf")
	called(t, "-model", model, "-export", path)
	if _, err := gguf.Open(path); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"stopped.gguf", "stopped"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("a signal")
		cancel(cause)
		err := run(ctx, []string{"-model", model, "-export", filepath.Join(dir, "there", name)}, io.Discard, io.Discard)
		if !errors.Is(err, cause) {
			t.Errorf("%s: got error %v, want %v", name, err, cause)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "there")); len(left) > 0 {
			t.Errorf("%s: %s is left", name, left[0].Name())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "file", "model.gguf")
	err := run(t.Context(), []string{"-model", model, "-export", path}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "file")) ||
		strings.Contains(err.Error(), ".model.gguf-") {
		t.Errorf("got error %v, want one that names the folder", err)
	}
}

// characters returns the folder of an exported model of characters, and its tokenizer.
func characters(t *testing.T) (dir string, tok text.Tokenizer) {
	t.Helper()
	const s = "The wheel turns; naïve été, 日本 🙂\n\t"
	c := small()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize = 1, 2, 32, 8
	tok, err := text.NewCharacters(s)
	if err != nil {
		t.Fatal(err)
	}
	data, err := text.NewCorpus(strings.Repeat(s, 5), tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := gpt.NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	if err := trainer.Save(t.TempDir() + "/run"); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir() + "/folder"
	if err := published.Export(t.Context(), dir, trainer.Model, tok, "F32", chat.Template{}); err != nil {
		t.Fatal(err)
	}
	return dir, tok
}

// An exported model of characters has a tokenizer.json for other programs, and opens here with its characters.
func TestCharactersExport(t *testing.T) {
	dir, tok := characters(t)
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "characters.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	_, got, err := published.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.(*text.Characters); !ok || got.Size() != tok.Size() {
		t.Errorf("got a tokenizer of type %T with %d tokens, want %d characters", got, got.Size(), tok.Size())
	}
}

// Hugging Face's tokenizers give the characters of a text the same ids, and the ids the text. PEDESTRIAN_TOKENIZERS is
// the folder of npm's @huggingface/tokenizers.
func TestHuggingFaceTokenizersCharacters(t *testing.T) {
	program := os.Getenv("PEDESTRIAN_TOKENIZERS")
	if program == "" {
		t.Skip("set PEDESTRIAN_TOKENIZERS to the folder of npm's @huggingface/tokenizers")
	}
	dir, tok := characters(t)
	s := "naïve  wheel\n\t日本 turns 🙂; été"
	want, err := tok.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", "-e", `
		const { Tokenizer } = require(process.argv[1] + "/dist/tokenizers.cjs"), fs = require("fs");
		const tok = new Tokenizer(JSON.parse(fs.readFileSync(process.argv[2] + "/tokenizer.json", "utf8")), {});
		const ids = Array.from(tok.encode(process.argv[3], {add_special_tokens: false}).ids);
		console.log(JSON.stringify({ids, text: tok.decode(ids)}))`, program, dir, s).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		IDs  []int
		Text string
	}
	if err := json.Unmarshal(out, &got); err != nil || !slices.Equal(got.IDs, want) || got.Text != s {
		t.Errorf("got %v and %q, %v, want %v and %q", got.IDs, got.Text, err, want, s)
	}
}
