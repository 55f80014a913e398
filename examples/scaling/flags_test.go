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
		Name: "scaling",
		Args: func(dir string) []string { return []string{"-plot", filepath.Join(dir, "scaling.png")} },
		Values: map[string]string{"preset": "gpt2",
			"shape": "baby", "network": "1gbit", "measured": "0.26:0.9,3.3:28,43:372",
			"plot": filepath.Join(t.TempDir(), "x.png"), "measure": "true",
		},
		Unseen: map[string]string{},
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
		{"-network 10gbt", "did you mean 10gbit?"},
		{"-measured 0.26:0.9,3.3", `element 2: got "3.3", want MB:ms`},
	})
}
