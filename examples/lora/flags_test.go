package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	texts := small(t, "")
	base, other := texts[1], texts[3]
	p := flagtest.Program{
		Run: run,
		Args: func(dir string) []string {
			return append(append(small(t, dir), flagtest.Small()...), "-base_data", base, "-data", other, "-max_iters", "4")
		},
		Values: flagtest.With(flagtest.Network(), map[string]string{
			"head": "linear", "out_dir": t.TempDir(), "data": base, "prompt": "he", "base_iters": "5",
			"lora_r": "4", "lora_alpha": "3", "lora_targets": "c_attn", "lora_scale": "alpha", "tokens": "9", "frozen": "h.*",
		}),
		Unseen: map[string]string{
			"threads":         "the same bits",
			"kernels":         "the same but for rounding",
			"recompute":       "the same bits",
			"memory_limit":    "a limit that the run stays below",
			"shard_optimizer": "of several ranks",
			"base_data":       "a text of as many characters",
			"checkpoint":      "another place without a checkpoint",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Unread(t)
	p.Closed(t)

	dir := t.TempDir() // with a checkpoint the network is its own
	if err := run(t.Context(), append(small(t, dir), flagtest.Small()...), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	p.Args = func(out string) []string {
		return append(small(t, out, "-checkpoint", filepath.Join(dir, "base")), "-base_data", base, "-data", other, "-max_iters", "4")
	}
	p.Check(t)
}
