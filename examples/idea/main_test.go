package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect.
func TestEveryFlag(t *testing.T) {
	write := func(name, s string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data := write("a.txt", strings.Repeat("The wheel goes round, the water pays no rent.\n", 40))
	other := write("b.txt", strings.Repeat("And what I grind by day by night is spent.\n", 40))
	flagtest.Program{
		Run:    flagtest.Untimed(run),
		Name:   "idea",
		Args:   func(dir string) []string { return []string{"-quick", "-data", data, "-out_dir", dir} },
		Values: map[string]string{"data": other},
		Unseen: map[string]string{
			"jobs":    "the same bits",
			"steps":   "tried by TestFlagsOfVerdict of examples/lab",
			"out_dir": "the directory in which the test looks",
			"minutes": "of a plan that is not quick",
			"quick":   "without it, the test takes an hour",
		},
	}.Check(t)
}

// The program is short enough to copy.
func TestShort(t *testing.T) {
	data, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n > 40 {
		t.Errorf("main.go has %d lines, want at most 40", n)
	}
}
