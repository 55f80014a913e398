package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A .lock that belongs to another program, is a link or is not a file is refused with its path. Its content, and that
// of a link's target, is unchanged.
func TestForeignLock(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	for kind, put := range map[string]func(lock string) error{
		"another program's": func(lock string) error { return os.Link(notes, lock) },
		"a symbolic link":   func(lock string) error { return os.Symlink(notes, lock) },
		"a directory":       func(lock string) error { return os.Mkdir(lock, 0o755) },
	} {
		if err := os.WriteFile(notes, []byte("notes of the user's"), 0o644); err != nil {
			t.Fatal(err)
		}
		lock := filepath.Join(t.TempDir(), lockName)
		if err := put(lock); err != nil {
			t.Skip("no links here:", err)
		}
		_, err := Open(filepath.Dir(lock))
		if err == nil || !strings.Contains(err.Error(), lock) || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s: got %v", kind, err)
		}
		if text, err := os.ReadFile(notes); string(text) != "notes of the user's" {
			t.Errorf("%s: the user's file holds %q, %v", kind, text, err)
		}
	}
}

// Errors about a path that is not a directory, or is too long, contain the path.
func TestPathsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("n", 300))
	for path, want := range map[string]string{
		file: "not a directory", filepath.Join(file, "below"): "not a directory", long: "name too long",
	} {
		_, loaded := Load(path)
		_, opened := Open(path)
		for _, err := range []error{loaded, opened, WriteFolder(path, []File{text("a", "of a")})} {
			if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "open .") {
				t.Errorf("%s: got %v, want %s and the path", path, err, want)
			}
		}
		if loaded != nil && !strings.Contains(loaded.Error(), want) {
			t.Errorf("got %v, want %s", loaded, want)
		}
	}
}

// What a killed process has left of a folder is removed by the next one that writes it; files of other programs stay.
func TestWriteFolderSweeps(t *testing.T) {
	dir := t.TempDir()
	ours, others := tmpPrefix+newMark()+"-model", tmpPrefix+newMark()+"-model2"
	step := tmpPrefix + newMark() + "-" + stepName(3)
	for _, name := range []string{ours, others, step, tmpPrefix + "short-model"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFolder(filepath.Join(dir, "model"), []File{text("a", "of a")}); err != nil {
		t.Fatal(err)
	}
	if err := WriteFolder(filepath.Join(dir, stepName(3)), []File{text("a", "of a")}); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{ours: false, others: true, step: true, tmpPrefix +
		"short-model": true, "model": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: got %v, want it there: %t", name, err, stays)
		}
	}
}
