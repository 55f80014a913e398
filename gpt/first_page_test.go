package gpt_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// block returns the lines of a file after the line begin, up to the line end.
func block(t *testing.T, path, begin, end string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	from := slices.Index(lines, begin)
	if from < 0 {
		t.Fatalf("%s has no line %q", path, begin)
	}
	n := slices.Index(lines[from:], end)
	if n < 0 {
		t.Fatalf("%s has no line %q behind %q", path, end, begin)
	}
	return lines[from+1 : from+n]
}

// The README's program is the Example, with at most twenty lines, and a newcomer's commands have at most eight lines.
func TestFirstPage(t *testing.T) {
	example, readme := block(t, "example_test.go", "func Example() {", "}"), block(t, "../README.md", "```go", "```")
	for i, line := range example {
		example[i] = strings.TrimPrefix(line, "\t")
	}
	if !slices.Equal(example, readme) {
		t.Errorf("the README's program is not the Example of gpt: got\n%s\nwant\n%s", strings.Join(readme, "\n"), strings.Join(example, "\n"))
	}
	if len(example) > 20 {
		t.Errorf("the program has %d lines, want at most 20", len(example))
	}
	commands := block(t, "../README.md", "```sh", "```")
	clone := slices.IndexFunc(commands, func(line string) bool { return strings.HasPrefix(line, "git clone ") })
	first := slices.IndexFunc(commands, func(line string) bool { return strings.HasPrefix(line, "go run ./examples/tinyshakespeare") })
	if clone < 0 || first < clone || first-clone >= 8 {
		t.Errorf("git clone is line %d of the first commands, the first sample line %d: want at most 8 lines from one to the other", clone, first)
	}
}

// The Example works: the loss falls, there is a checkpoint, and the model generates text.
func TestExample(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for a second")
	}
	t.Chdir(t.TempDir())
	verse := strings.Repeat("ROMEO:\nThe wheel goes round, the water pays no rent.\n\nJULIET:\nThen cross with me!\n\n", 20)
	if err := os.WriteFile("input.txt", []byte(verse), 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create("said")
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = said
	func() {
		defer func() { os.Stdout = stdout }()
		Example()
	}()
	data, err := os.ReadFile("said")
	if err != nil {
		t.Fatal(err)
	}
	steps, text, _ := strings.Cut(string(data), "step 20: loss ")
	var first, last float64
	if _, err := fmt.Sscanf(steps, "step 1: loss %f", &first); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if _, err := fmt.Sscanf(text, "%f", &last); err != nil || !(last < first-0.5) {
		t.Errorf("the loss went from %v to %v (%v), want it to fall", first, last, err)
	}
	if _, err := os.Stat("out/step-00000020/manifest.json"); err != nil {
		t.Error(err)
	}
	if _, written, _ := strings.Cut(text, "\n"); len(written) != 200 || !strings.Contains(written, "e") {
		t.Errorf("wrote %d letters, want 200: %q", len(written), written)
	}
}
