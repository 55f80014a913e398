package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/index"
)

// The studies of tasks, which need no text, are done again, and end with the hashes in RESULTS.md: so does every number
// of their tables, on any machine that computes the same bits.
func TestRecordsAgain(t *testing.T) {
	if os.Getenv("NIGHTLY") == "" {
		t.Skip("NIGHTLY is not set: this trains for a minute")
	}
	root, err := index.Root()
	if err != nil {
		t.Fatal(err)
	}
	results := readPage(t, filepath.Join(root, "examples/book/RESULTS.md"))
	hash := regexp.MustCompile("SHA-256 `([0-9a-f]{64})`")
	done := 0
	for _, section := range strings.Split(results, "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		_, command, ok := strings.Cut(text, "\n    go run ./examples/lab tasks ")
		if !ok {
			continue
		}
		command, _, _ = strings.Cut(command, "\n")
		dir := t.TempDir()
		study := exec.CommandContext(t.Context(), "sh", "-c", "go run ./examples/lab tasks "+command+" -out_dir "+dir)
		study.Dir = root
		if said, err := study.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", title, err, said)
		}
		want := hash.FindStringSubmatch(text)
		if report := readPage(t, filepath.Join(dir, "report.md")); want == nil || !strings.Contains(report, want[1]) {
			t.Errorf("%s: the study has another hash than %v", title, want)
		}
		done++
	}
	if done < 2 {
		t.Errorf("got %d studies, want at least 2", done)
	}
}
