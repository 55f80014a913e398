package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
)

// The program trains on bytes and words, on a directory and on shards, resumes, and samples with the saved tokenizer.
func TestTokenizersAndCorpora(t *testing.T) {
	texts, shards := t.TempDir(), filepath.Join(t.TempDir(), "shards")
	verse := strings.Repeat("The wheel goes round, the water pays no rent.\n", 20)
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(texts, name), []byte(verse), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tok, err := text.NewWords(verse)
	if err != nil {
		t.Fatal(err)
	}
	data, err := text.NewCorpus(verse, tok, 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := text.WriteShards(shards, tok, 100, text.All(data.Train()), text.All(data.Val())); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"-tokenizer", "byte"}, []string{"256 different", "20 tokens", "nats per token, "}},
		{[]string{"-tokenizer", "word", "-data", texts}, []string{"13 different", "20 tokens"}},
		{[]string{"-data", texts}, []string{"1,840 tokens", "20 characters", "nats per character, "}},
		{[]string{"-data", shards}, []string{"13 different", "400 tokens"}},
	} {
		dir := t.TempDir()
		args := append([]string{"-prompt", "The wheel"}, tc.args...)
		whole := mustDo(t, small(t, dir, args...)...)
		for _, want := range tc.want {
			if !strings.Contains(whole, want) {
				t.Errorf("%v: %q is not in\n%s", tc.args, want, whole)
			}
		}
		mustDo(t, small(t, dir, append(args, "-resume", "-max_iters", "7")...)...)
		if again := mustDo(
			t, small(t, dir, append(args, "-sample_only")...)...,
		); !strings.Contains(again, "The wheel") {
			t.Errorf("%v: sampled %q", tc.args, again)
		}
	}
	if _, _, err := do(t.Context(), small(t, t.TempDir(), "-tokenizer", "piece")...); err == nil ||
		!strings.Contains(err.Error(), "one of "+text.KindNames(bpe.Kind())) {
		t.Errorf("got error %v", err)
	}
}
