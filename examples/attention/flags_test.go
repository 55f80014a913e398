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
	other := data + "x"
	if err := os.WriteFile(other, []byte(strings.Repeat("A text, longer than the other was before.\n\nAnd so on.\n", 9)), 0o644); err != nil {
		t.Fatal(err)
	}
	p := flagtest.Program{
		Run: run,
		Args: func(dir string) []string {
			return append(small(t, dir), append(flagtest.Small(), "-max_iters", "3", "-data", data)...)
		},
		Values: flagtest.With(flagtest.Network(), map[string]string{
			"head": "linear", "out_dir": t.TempDir(), "checkpoint": filepath.Join(t.TempDir(), "other"), "data": other,
			"prompt": "The", "draws": "9", "width": "1", "groups": "1", "drop": "0.9", "epsilon": "0.9", "share": "0.9",
		}),
		Unseen: map[string]string{
			"threads":                "the same bits",
			"kernels":                "the same but for rounding",
			"recompute":              "the same bits",
			"memory_limit":           "a limit that the run stays below",
			"shard_optimizer":        "of several ranks",
			"checkpoint":             "another place without a checkpoint",
			"always_save_checkpoint": "of nanoGPT",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Unread(t)
	p.Closed(t)

	shown := saved(t)
	p.Args = func(dir string) []string {
		return []string{"-checkpoint", shown, "-out_dir", dir, "-prompt", "The wheel"}
	}
	p.Unseen = map[string]string{}
	p.Values = flagtest.With(p.Values, map[string]string{"n_head": "4", "n_layer": "2", "block_size": "9", "draws": "9"})
	for name, value := range p.Values {
		p.Values[name], _, _ = strings.Cut(value, " with ") // of another network, which is refused
	}
	p.Check(t)
}
