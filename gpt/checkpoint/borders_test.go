package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The path of a single checkpoint loads it with that path. A nil Fit is ignored.
func TestPathOfOne(t *testing.T) {
	path := t.TempDir()
	if err := open(t, path).Save(3, []File{text("a", "of a")}); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(path, stepName(3))
	for _, at := range []string{path, want} {
		c, err := Load(at, nil, func(*Checkpoint) error { return nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.Path != want {
			t.Errorf("%s: got path %s, want %s", at, c.Path, want)
		}
	}
}

// A mark is kept, and an empty file gets one. The content of another program is an error and stays, and so is a file
// that cannot be read.
func TestMarkIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	marked := strings.Repeat("A7", markSize/2)
	for before, kept := range map[string]string{
		"": "new", strings.Repeat("\x00", markSize): "new", "\x00": "new", marked: "kept",
		"SHORT": "refused", "X": "refused", strings.ToLower(marked): "refused", marked[1:]: "refused", marked +
			"B": "refused",
		strings.Repeat("\x00", markSize+1): "refused", "a user's notes\n": "refused",
	} {
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := markIn(f)
		want := got
		if kept == "refused" {
			want = before
			if err == nil || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "another program's") {
				t.Errorf("%q: got %q, %v, want an error", before, got, err)
			}
		} else if err != nil || !isMark(got) || (got == marked) != (kept == "kept") {
			t.Errorf("%q: got %q, %v", before, got, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%q: the file holds %q, %v, want %q", before, text, err, want)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if mark, err := markIn(f); err == nil {
		t.Errorf("a lock that cannot be read has the mark %q", mark)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if mark, err := markIn(f); err == nil {
		t.Errorf("a lock that cannot be written has the mark %q", mark)
	}
}

// A manifest of the largest size is written and read, one byte more is not written.
func TestLargestManifest(t *testing.T) {
	size := func(files []File) int {
		m := manifest{Format: manifestFormat}
		for _, f := range files {
			m.Files = append(m.Files, entry{f.Name, 0, strings.Repeat("0", 64)})
		}
		text, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		return len(text)
	}
	name := func(i, length int) File { return text(fmt.Sprintf("n%04d", i)+strings.Repeat("n", length-5), "") }
	one, two := size([]File{name(0, 50)}), size([]File{name(0, 50), name(1, 50)})
	n := (maxManifest-one)/(two-one) + 1 // with names of 50 letters
	files := make([]File, n)
	for i := range files {
		files[i] = name(i, 50)
	}
	left := maxManifest - size(files)
	for i := 0; left > 0; i++ {
		more := min(left, 50)
		files[i], left = name(i, 50+more), left-more
	}
	if got := size(files); got != maxManifest {
		t.Fatalf("a manifest of %d bytes, want %d", got, maxManifest)
	}
	d, m := newMemDir()
	if err := d.Save(1, files); err != nil {
		t.Fatal(err)
	}
	if _, err := readManifest(m.tree.checkpoints(), stepName(1)); err != nil {
		t.Error(err)
	}
	last := slices.Clone(files)
	last[n-1] = name(n-1, 51)
	if err := d.Save(2, last); err == nil || !strings.Contains(err.Error(), "1048577 bytes, the limit is 1048576") {
		t.Errorf("one byte more: got error %v", err)
	}
}
