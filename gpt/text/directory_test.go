package text

import (
	"os"
	"path/filepath"
	"testing"
)

// The text of a directory is the text of its files in the order of their paths; an invalid file is named.
func TestReadDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b.txt", "second\r\n")
	write("a.txt", "first")
	write("c/d.txt", "third\n\n")
	write(".git/x", "hidden\xff")
	write("c/.x", "hidden\xff")
	got, err := ReadCorpus(dir)
	if want := "first\nsecond\nthird\n\n"; err != nil || got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
	write("c/e.txt", "bad\xff")
	_, err = ReadCorpus(dir)
	wantError(t, err, filepath.Join("c", "e.txt"), "offset 3")
}
