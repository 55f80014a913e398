package main

import (
	"path/filepath"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	p := flagtest.Program{
		Run:  run,
		Name: "induction",
		Args: func(dir string) []string {
			return append(flagtest.Small(), "-vocab_size", "8", "-picture", filepath.Join(dir, "induction.png"))
		},
		Values: flagtest.Network(),
		Unseen: map[string]string{"preset": "modern",
			"picture":         "another place",
			"out_dir":         "TestResume",
			"resume":          "TestResume",
			"n_groups":        "of a recurrence, which has no weights to draw",
			"threads":         "the same bits",
			"kernels":         "the same but for rounding",
			"recompute":       "the same bits",
			"memory_limit":    "TestFlags",
			"shard_optimizer": "of several ranks",
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
		{"-mlp swigl", "did you mean swiglu?"},
	})
}
