package checkpoint

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
)

// A folder is written completely and opens again. Checkpoints have precedence over a folder.
func TestFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "model")
	files := []File{
		text("config.json", "{}"), text("model.safetensors", "weights"), text("notes.txt", "x"),
		text("picture.png", "y"),
	}
	if err := WriteFolder(path, files); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(path, "directory.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, func(c *Checkpoint) error {
		if _, err := c.File("config.json"); err != nil || !c.Published {
			t.Errorf("shown a folder that is not open: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.File("model.safetensors")
	if err != nil || string(data) != "weights" || !c.Published || c.Path != path {
		t.Errorf("got %q, %v, %+v", data, err, c)
	}
	if got := c.Names(); !slices.Equal(got, []string{"config.json", "model.safetensors", "notes.txt"}) {
		t.Errorf("got files %v", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	unfit := errors.New("does not fit")
	if _, err := Load(path, func(*Checkpoint) error { return unfit }); !errors.Is(err, unfit) ||
		!strings.HasPrefix(err.Error(), "folder ") {
		t.Errorf("got %v", err)
	}
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Load(); !errors.Is(err, ErrNone) {
		t.Errorf("under the lock, where runs are resumed: got %v", err)
	}
	if err := d.Save(4, []File{text("a", "b")}); err != nil {
		t.Fatal(err)
	}
	if c, err = Load(path); err != nil || c.Step != 4 || c.Published {
		t.Errorf("beside a checkpoint: got %+v, %v", c, err)
	}
}

// An existing folder is not replaced, and a failure leaves nothing.
func TestWriteFolderRefuses(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFolder(taken, []File{text("a", "b")}); err == nil ||
		!strings.Contains(err.Error(), "there is something already") {
		t.Errorf("on a file: got %v", err)
	}
	if err := WriteFolder(dir, []File{text("a", "b")}); err == nil ||
		!strings.Contains(err.Error(), "there is something already") {
		t.Errorf("on a directory that is not empty: got %v", err)
	}
	if data, err := os.ReadFile(taken); err != nil || string(data) != "mine" {
		t.Errorf("the file is gone: %v", err)
	}
	broken := errors.New("broken")
	half := []File{text("a", "b"), {Name: "c", Write: func(io.Writer) error { return broken }}}
	if err := WriteFolder(filepath.Join(dir, "new"), half); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	for _, bad := range [][]File{nil, {text("../a", "b")}, {text("a", "b"), text("a", "b")}, {{Name: "a"}}} {
		if err := WriteFolder(filepath.Join(dir, "new"), bad); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFolder(empty, []File{text("a", "b")}); err != nil {
		t.Errorf("an empty directory: got %v", err)
	}
	if err := WriteFolder("", []File{text("a", "b")}); err == nil || !strings.Contains(err.Error(), "name is empty") {
		t.Errorf("no name: got %v", err)
	}
}

// A folder of too many files is refused.
func TestFolderOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range maxOpen + 1 {
		if err := os.WriteFile(filepath.Join(dir, strings.Repeat("x", 1+i%100)+string(rune('a'+i/100))+
			".safetensors"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "got more than 1000 files") {
		t.Errorf("got %v", err)
	}
}
