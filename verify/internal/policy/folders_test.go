package policy

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestFoldersAreSmall checks that a folder has at most 60 entries, including tests and folders, so that a reader can
// scan its list.
func TestFoldersAreSmall(t *testing.T) {
	const limit = 60
	module, folders := os.DirFS(root), 0
	err := fs.WalkDir(module, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case path != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata":
			return fs.SkipDir
		}
		folders++
		entries, err := fs.ReadDir(module, path)
		if n := len(entries); n > limit {
			t.Errorf("folder %s: got %d entries, want at most %d: merge small files of one subject", path, n, limit)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if folders < 40 {
		t.Errorf("got %d folders, want at least 40", folders)
	}
}
