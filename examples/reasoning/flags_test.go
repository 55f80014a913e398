package main

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	p := flagtest.Program{
		Run:  run,
		Name: "reasoning",
		Args: func(string) []string { return small("-steps", "20", "-objective", "ppo", "-reward_rate", "0.02") },
		Values: map[string]string{"preset": "modern",
			"objective": "reinforce", "slip": "0.1", "steps": "9", "rounds": "5", "seed": "3", "clip": "0.01",
			"reward_rate": "0.01", "n_head": "1", "n_layer": "2", "epochs": "1 with -reward_rate 0.01",
		},
		Unseen: map[string]string{
			"threads": "the same bits",
			"out_dir": "TestResume",
			"resume":  "TestResume",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Help(t)
	p.Unread(t)
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: run}.Mistakes(t, [][2]string{
		{"-objective pppo", "did you mean ppo?"},
		{"-bit 3", "did you mean -bits?"},
	})
}
