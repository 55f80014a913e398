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
	data := small(t, "")[1]
	other := small(t, "", "-tokens", "1")[1] + "x"
	if err := os.WriteFile(
		other, []byte(strings.Repeat("The wheel, and another text that is longer than the first one was\n", 9)), 0o644,
	); err != nil {
		t.Fatal(err)
	}
	p := flagtest.Program{
		Run:  run,
		Name: "tinyshakespeare",
		Args: func(dir string) []string {
			return append(
				small(t, dir, "-tokens", "9", "-prompt", "The", "-data", data, "-eval_interval", "12"),
				flagtest.Small()...,
			)
		},
		Values: flagtest.With(flagtest.Network(), map[string]string{"model": t.TempDir(),
			"head": "linear", "out_dir": filepath.Join(t.TempDir(), "other"), "data": other, "tokenizer": "byte",
			"config": filepath.Join(t.TempDir(), "none"),
			"resume": "true", "prompt": "wheel", "stop": "h",
			"temperature": "9", "top_k": "1", "top_p": "0.1", "min_p": "0.9", "repetition_penalty": "9",
			"max_iters": "3", "tokens": "5",
			"preset": "stories15m", "patience": "1 with -learning_rate 1e-30 -min_lr 0 -eval_interval 1 -max_iters 9",
			"eval_interval": "6", "eval_iters": "3", "log_interval": "5",
		}),
		Unseen: map[string]string{
			"threads":          "the same bits",
			"kernels":          "the same but for rounding",
			"recompute":        "the same bits",
			"memory_limit":     "a limit that the run stays below",
			"shard_optimizer":  "of several ranks",
			"keep_checkpoints": "TestKeepCheckpoints",
			"serve":            "TestServe",
			"sample_only":      "TestSampleOnly",
			"weights":          "nearly always the same tokens; TestRefused has other values",
			"timeout":          "of several ranks",
			"fast_reduce":      "of several ranks",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Help(t)
	p.Unread(t)
	p.Closed(t)
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: run}.Mistakes(t, [][2]string{
		{"-n_layers 3", "did you mean -n_layer?"},
		{"--lr 1e-3", "did you mean -learning_rate?"},
		{"-norm rms", "did you mean rmsnorm?"},
		{"-attention gla*3,casual", "element 2 of the list is casual; did you mean causal?"},
		{"-optimizer adam", "did you mean adamw?"},
		{"-schedule cosin", "did you mean cosine?"},
		{"-preset modrn", "did you mean modern?"},
		{"-n_layer four", `-n_layer: got "four", want a whole number, 1 to 268435456`},
		{"-learning_rate fast", "want a finite number above 0"},
		{"-tokenizer charcter", "did you mean character?"},
		{"-weights in8", "did you mean int8?"},
		{"-precision bf6", "did you mean bf16?"},
		{"-help atention", "did you mean attention?"},
		{"-arms modern", "flag -arms: not of tinyshakespeare; ./examples/lab compare has it"},
		{"-qk_norm heads", "did you mean head?"},
		{"-timeout 1x", "want a time such as 90s or 1h30m"},
	})
}
