package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	p := flagtest.Program{
		Run:  run,
		Name: "verify",
		Args: func(string) []string {
			return []string{"-n_layer", "1"}
		},
		Values: flagtest.With(flagtest.Network(), map[string]string{
			"block_size": "5", "head": "tied", "vocab_size": "9", "loss": "sum", "model": t.TempDir(),
			"preset": "modern",
			"replay": t.TempDir(), "with": t.TempDir(), "segments": "2", "other_commit": "true",
			"data":       "text.txt",
			"rope_theta": "4 with -position rope -qk_size 4", "position": "sinusoidal", "all": "true", "json": "true",
			"page":          filepath.Join(t.TempDir(), "page.html"),
			"rope_size":     "6 with -attention mla_rope -position none -qk_size 4",
			"q_latent_size": "2 with -attention mla",
		}),
		Unseen: map[string]string{
			"memory_limit":   "a limit that the check stays below",
			"carry":          "the states begin at 0",
			"initialization": "the check draws numbers of its own",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Help(t)
	p.Unread(t)

	verses := strings.Repeat("Who weighs us both and tells if we shall float?\nThe boat will tell.\n", 20)
	dir := t.TempDir()
	data, other := filepath.Join(dir, "verses.txt"), filepath.Join(dir, "other.txt")
	for path, text := range map[string]string{data: verses, other: verses[20:]} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := small()
	c.VocabSize, c.NLayer, c.NEmbd, c.BlockSize, c.MaxIters, c.WarmupIters, c.LRDecayIters = 0, 1, 4, 4, 1, 0, 1
	trainSome(t, c, verses, filepath.Join(dir, "out"))
	p.Args = func(string) []string { return []string{"-model", filepath.Join(dir, "out"), "-data", data} }
	p.Values = flagtest.With(p.Values, map[string]string{"data": other})
	for name, value := range p.Values {
		p.Values[name], _, _ = strings.Cut(value, " with ") // of another network, which is refused
	}
	p.Check(t)
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: run}.Mistakes(t, [][2]string{
		{"-loss men", "did you mean mean?"},
		{"-norm layernrom", "did you mean layernorm?"},
		{"-checkpont out", "did you mean -model?"},
	})
}
