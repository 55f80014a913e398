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
		Values: flagtest.With(flagtest.Network(), map[string]string{
			"head": "linear", "out_dir": filepath.Join(t.TempDir(), "other"), "data": other, "tokenizer": "byte",
			"config": filepath.Join(t.TempDir(), "none"),
			"resume": "true", "prompt": "wheel", "stop": "h",
			"temperature": "9", "top_k": "1", "top_p": "0.1", "min_p": "0.9", "repetition_penalty": "9",
			"max_iters": "3", "tokens": "5",
			"preset": "stories15m", "patience": "1 with -learning_rate 1e-30 -min_lr 0 -eval_interval 1 -max_iters 9",
			"eval_interval": "6", "eval_iters": "3", "log_interval": "5",
		}),
		Unseen: map[string]string{
			"threads":         "the same bits",
			"kernels":         "the same but for rounding",
			"recompute":       "the same bits",
			"memory_limit":    "a limit that the run stays below",
			"shard_optimizer": "of several ranks",
			"serve":           "TestServe",
			"sample_only":     "TestSampleOnly",
			"weights":         "nearly always the same tokens; TestRefused has other values",
			"timeout":         "of several ranks",
			"fast_reduce":     "of several ranks",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Help(t)
	p.Unread(t)
	p.Closed(t)
}
