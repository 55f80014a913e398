package main

import (
	"context"
	"io"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name.
func TestEveryFlag(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the flags matter before the first chapter
	p := flagtest.Program{
		Name: "book",
		Run: func(_ context.Context, args []string, stdout, stderr io.Writer) error {
			return run(ctx, args, stdout, stderr)
		},
		Args:   func(dir string) []string { return []string{"-out_dir", dir} },
		Values: map[string]string{"serve": ":none"},
		Unseen: map[string]string{"out_dir": "TestBook"},
	}
	p.Check(t)
	p.Help(t)
	p.Unread(t)
}
