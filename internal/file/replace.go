package file

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Replace writes a regular file under a temporary name, .base-123 in the same directory, flushes it to the disk, and
// then renames it. No reader sees half a file, not even after a power failure, and the old one stays if writing fails.
// Replace also removes such temporary files of the same base that killed processes left.
func Replace(path string, write func(io.Writer) error) error {
	return replace(path, write, disk{(*os.File).Sync, os.Rename, SyncDir})
}

// disk holds the steps of Replace between writing and returning. Tests record them and make each of them fail.
type disk struct {
	sync    func(*os.File) error // flushes the content of a file
	rename  func(from, to string) error
	syncDir func(dir string) error // flushes the names in a directory
}

func replace(path string, write func(io.Writer) error, d disk) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "replace", Path: path, Err: irregular(info.Mode())}
	}
	Sweep(filepath.Dir(path), prefix(path), isNumber)
	f, holder, err := temporary(path)
	if err != nil {
		return withPath(err, path)
	}
	defer holder.Close() // after the rename: until then Sweep would take the file for one of a killed process
	defer os.Remove(f.Name())
	defer f.Close()
	if err := errors.Wrap(write(f), path); err != nil {
		return err
	}
	// A system may write the new name to the disk before the content: after a power failure the file would be empty.
	if err := d.sync(f); err != nil {
		return withPath(err, path)
	}
	if err := f.Close(); err != nil {
		return withPath(err, path)
	}
	if err := d.rename(f.Name(), path); err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

// withPath returns an error that names the temporary file as one that names path, which the caller knows.
func withPath(err error, path string) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	}
	return err
}

// prefix returns the beginning of the temporary names for the file at path.
func prefix(path string) string { return "." + filepath.Base(path) + "-" }

// IsTemporary reports whether name is a temporary name of Replace for a file called base.
func IsTemporary(name, base string) bool {
	number, ok := strings.CutPrefix(name, prefix(base))
	return ok && isNumber(number)
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

// temporary creates a file in the directory of path, and holds it.
func temporary(path string) (*os.File, io.Closer, error) {
	for {
		name := filepath.Join(filepath.Dir(path), prefix(path)+fmt.Sprint(rand.Uint32()))
		f, err := Create(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		holder, err := Hold(name)
		if err == nil {
			return f, holder, nil
		}
		f.Close()
		if !errors.Is(err, ErrLocked) {
			os.Remove(name)
			return nil, nil, err
		}
	}
}

// MoveAll moves the files of the directory from into the directory to, which it creates if it does not exist, and
// removes from. A file takes the place of one of the same name; others stay. The files must be flushed to the disk.
func MoveAll(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, f := range list {
		if err := os.Rename(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			return err
		}
	}
	if err := SyncDir(to); err != nil {
		return err
	}
	return os.Remove(from)
}
