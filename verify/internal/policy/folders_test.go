package policy

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestFoldersAreSmall checks that a folder has at most 60 entries, including tests and folders, so that a reader can
// scan its list. The table gives the number of entries of each folder that is larger today, as its bound.
func TestFoldersAreSmall(t *testing.T) {
	const limit = 60
	larger := map[string]int{"gpt": 63}
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
		if err != nil {
			return err
		}
		bound, listed := larger[path]
		delete(larger, path)
		switch n := len(entries); {
		case !listed && n > limit:
			t.Errorf("folder %s: got %d entries, want at most %d: merge small files of one subject", path, n, limit)
		case listed && n > bound:
			t.Errorf("folder %s: got %d entries, want at most %d: a listed folder may only shrink", path, n, bound)
		case listed && n <= limit:
			t.Errorf("folder %s: got %d entries, at most the limit of %d: delete its row", path, n, limit)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range larger {
		t.Errorf("folder %s: got a row, want the folder", path)
	}
	if folders < 40 {
		t.Errorf("got %d folders, want at least 40", folders)
	}
}
