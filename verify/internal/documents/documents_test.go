package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const page = "The command is `go run ./a -x`, of the package `nn`; `go run` alone is none.\n" +
	"```sh\ncurl x\nNIGHTLY=1 go test ./b   # a comment\n```\n```go\ngo run ./c\n```\n" +
	"Every study has these flags:\n\n    -shared 1\n\nThe first:\n\n    -arms 'a; …'\n\n    text\n//\t.ci/machines " +
	"-y # why\n"

// A document's commands are found wherever they stand, with the lines on which they stand.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "A.md"), []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := read(dir, "A.md")
	want := []command{{"A.md", 1, "go run ./a -x"}, {"A.md", 4, "NIGHTLY=1 go test ./b"},
		{"A.md", 15, "NIGHTLY=1 go test ./b -shared 1 -arms 'a; …'"}, {"A.md", 18, ".ci/machines -y"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// Names are replaced where they are words, and the first value that fits counts.
func TestFill(t *testing.T) {
	values := []value{{"-llama DIR", "-llama there"}, {"DIR", "here"}, {"N", "1"}}
	for text, want := range map[string]string{
		"go run ./a -model DIR -seed N": "go run ./a -model here -seed 1",
		"go run ./a -llama DIR":         "go run ./a -llama there",
		"go run ./a -DIRE -arms 'a; …'": "go run ./a -DIRE -arms 'a'",
	} {
		if got := (command{text: text}).fill(values); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// A command passes, fails, is interrupted after the limit, or is skipped because it ran before or runs this program.
func TestTry(t *testing.T) {
	if _, err := exec.LookPath("timeout"); err != nil {
		t.Skip("wants timeout of coreutils")
	}
	p := &workplace{dir: t.TempDir(), done: map[string]bool{}}
	for _, c := range []struct{ text, state, output string }{
		{"cat", success, "Who are you?"},
		{"cat", skipped, ""},
		{"echo why; exit 3", failure, "why"},
		{"false | cat", failure, ""},
		{"sleep 9", interrupted, ""},
		{".ci/nightly", skipped, ""},
	} {
		state, output := p.try(command{text: c.text}, 300*time.Millisecond)
		if state != c.state || !strings.Contains(output, c.output) {
			t.Errorf("%s: got %s, %q, want %s, %q", c.text, state, output, c.state, c.output)
		}
	}
}

// The documents of the root name commands, and each program that they run exists.
func TestDocuments(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	results, err := filepath.Glob(filepath.Join(root, "examples/*/RESULTS.md"))
	if err != nil || len(results) < 3 {
		t.Fatalf("got %v, %v, want at least 3 files of results", results, err)
	}
	for _, document := range append(results, filepath.Join(root, "README.md"), filepath.Join(root, "TRUST.md"),
		filepath.Join(root, "PROMISES.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		commands, err := read(".", document)
		if err != nil || len(commands) == 0 {
			t.Errorf("%s: got %d commands, %v, want at least 1", document, len(commands), err)
		}
		for _, c := range commands {
			for _, word := range strings.Fields(c.text) {
				path, _ := strings.CutSuffix(strings.TrimPrefix(word, "./"), "/...")
				if !strings.HasPrefix(word, "./") || strings.Contains(path, "{") || word == "./..." ||
					word == "./train" {
					continue
				}
				if _, err := os.Stat(filepath.Join(root, path)); err != nil {
					t.Errorf("%s:%d: %s: %v", document, c.line, c.text, err)
				}
			}
		}
	}
}
