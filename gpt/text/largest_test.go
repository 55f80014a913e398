package text

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file larger than MaxBytes is refused unread, alone and in a directory.
func TestLargestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "large.txt")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, MaxBytes+1); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{path, dir} {
		if _, err := ReadCorpus(path); err == nil || !strings.Contains(err.Error(), "1073741824") {
			t.Errorf("%s: got error %v", path, err)
		}
	}
}
