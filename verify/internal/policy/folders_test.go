package policy

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFoldersAreSmall checks that a folder has at most 60 files and folders, so that a reader can scan its list. Tests
// do not count: a new layer, which needs a file and often a test, must not make its author merge the files of others.
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
		entries = slices.DeleteFunc(
			entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), "_test.go") },
		)
		if n := len(entries); n > limit {
			t.Errorf("folder %s: got %d files and folders, want at most %d: merge files of one subject", path, n, limit)
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
