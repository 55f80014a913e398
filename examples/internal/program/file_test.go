package program

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pkg/errors"
)

// A write that fails leaves what was there, and nothing else.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "numbers")
	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			io.WriteString(w, s)
			return err
		}
	}
	if err := WriteWhole(path, text("one", nil)); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := WriteWhole(path, text("tw", full)); !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("got error %v, want %v with the name", err, full)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "one" {
		t.Errorf("got %q, %v, want one", data, err)
	}
}
