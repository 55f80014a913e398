package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/book/trainer/internal/session"
	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name.
func TestEveryFlag(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("another text of some length\n", 30)), 0o644); err != nil {
		t.Fatal(err)
	}
	p := flagtest.Program{
		Name: "hash", Run: run,
		Args: func(string) []string { return []string{"-steps", "1"} },
		Values: map[string]string{
			"task": "sort", "position": "rope", "norm": "rmsnorm", "attention": "window", "seed": "2", "steps": "2",
			"data": path + " with -task=text",
		},
	}
	p.Check(t)
	p.Help(t)
	p.Unread(t)
}

// The program prints the hash of the page's runs.
func TestHash(t *testing.T) {
	var out bytes.Buffer
	args := strings.Fields("-task sort -attention retnet -steps 2")
	if err := run(t.Context(), args, &out, &out); err != nil {
		t.Fatal(err)
	}
	want, err := session.Hash(session.Choice{Task: "sort", Seed: 1, Attention: "retnet"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
