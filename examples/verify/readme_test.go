package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The README quotes the table: its lines are the program's, except for digits of rounding, and so is the number of
// omitted rows. No line is wider than a laptop's terminal of 100 columns.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, quoted, _ := strings.Cut(string(data), "\nparameter  ")
	quoted, _, _ = strings.Cut("parameter  "+quoted, "```")
	var out bytes.Buffer
	if err := run(t.Context(), nil, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	distances := regexp.MustCompile(`\d\.\de-\d\d`)
	printed := distances.ReplaceAllString(out.String(), "x.xe-xx")
	for line := range strings.Lines(quoted) {
		want := distances.ReplaceAllString(line, "x.xe-xx")
		if rest, more := strings.CutPrefix(want, "… "); more {
			if rows := strings.Count(
				printed[:strings.Index(printed, "\n\n")], "\n",
			); rest != strings.Replace("N rows more …\n", "N", "37", 1) || rows != 38 {
				t.Errorf("got %d rows of which README.md leaves out %s, want 38 and 37", rows, rest)
			}
		} else if !strings.Contains("\n"+printed, "\n"+want) {
			t.Errorf("README.md has %q, which is not in\n%s", want, printed)
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > 100 {
			t.Errorf("%d columns, want at most 100: %s", n, line)
		}
	}
}
