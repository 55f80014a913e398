package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// Names may consist of all letters and digits and have 100 bytes, and a checkpoint may have several files. The caller's
// list is unchanged, and the files are not executable.
func TestFileNames(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	names := []string{"z-_.9", "a.b", "azAZ09", strings.Repeat("n", maxName), "b"}
	var files []File
	for _, name := range names {
		files = append(files, text(name, "of "+name))
	}
	if err := d.Save(1, files); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if files[i].Name != name {
			t.Errorf("Save has moved %s to the place of %s", files[i].Name, name)
		}
		if got, err := c.File(name); err != nil || string(got) != "of "+name {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if info, err := os.Stat(filepath.Join(path, stepName(1), name)); err != nil || info.Mode()&0o133 != 0 {
			t.Errorf("%s: mode %v (%v), want at most 0644", name, info.Mode(), err)
		}
	}
	for _, c := range "`{@[/:" { // next to the letters and digits
		if checkName("x"+string(c)) == nil {
			t.Errorf("%q is allowed", c)
		}
	}
}

type unclosable struct{}

func (unclosable) Close() error { return fs.ErrClosed }

// Close returns its error once. A closed Dir leaves the directory alone, where another process may be saving.
func TestClosed(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	d.lock = unclosable{}
	if err := d.Close(); !errors.Is(err, fs.ErrClosed) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	others := filepath.Join(path, tmpPrefix+stepName(7))
	if err := os.Mkdir(others, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(1, state(1, 1)); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(others); err != nil {
		t.Errorf("a file that another process is writing is gone: %v", err)
	}
}

// Errors of the system keep their kind.
func TestSystemErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if f, err := (osDisk{}).create(path); err != nil {
		t.Fatal(err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err := (osDisk{}).create(path); f != nil || !errors.Is(err, fs.ErrExist) {
		t.Errorf("made a file that exists: %v, %v", f, err)
	}
	for _, bad := range []string{filepath.Join(path, "below"), filepath.Join(dir, strings.Repeat("n", 300))} {
		if err := makeDir(bad); err == nil {
			t.Errorf("made a directory %s", bad)
		}
	}
	if names, err := (osDisk{}).list(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, %v", names, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Skip("this file system has no symbolic links: ", err)
	}
	if err := makeDir(filepath.Join(link, "a", "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made directories below a link to nothing: %v", err)
	}
	if err := WriteFolder(filepath.Join(link, "a", "b"), []File{text("a", "b")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made a folder below a link to nothing: %v", err)
	}
	if err := file.SyncDir(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if runtime.GOOS == "linux" {
		if err := file.SyncDir("/proc"); err == nil {
			t.Error("brought /proc to the disk")
		}
	}
	if names, err := (osDisk{}).list(dir); err != nil || !slices.Equal(names, []string{"file", "link"}) {
		t.Errorf("got %v, %v", names, err)
	}
}

// Directories have the usual mode.
func TestMode(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "usual"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := makeDir(filepath.Join(dir, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if err := (osDisk{}).mkdir(filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	usual := modeOf(t, filepath.Join(dir, "usual"))
	for _, name := range []string{"a", filepath.Join("a", "b"), "c"} {
		if got := modeOf(t, filepath.Join(dir, name)); got != usual {
			t.Errorf("%s: got mode %v, want %v", name, got, usual)
		}
	}
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
