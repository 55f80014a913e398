package file

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// Hold keeps the file or directory at path, which is unfinished, from Sweep until it is closed, or until the process
// ends. The error is ErrLocked if Sweep has just removed it. Where the system has no locks, Hold and Sweep do nothing.
func Hold(path string) (io.Closer, error) {
	if !locks {
		return io.NopCloser(nil), nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Wrap(ErrLocked, path)
	}
	if err != nil {
		return nil, err
	}
	if lock(f) == ErrLocked || !named(f, path) {
		f.Close()
		return nil, errors.Wrap(ErrLocked, path)
	}
	return f, nil // locked, unless the file system has no locks: then Sweep removes nothing
}

// named reports whether the open file still has that name.
func named(f *os.File, path string) bool {
	info, err := f.Stat()
	now, gone := os.Lstat(path)
	return err == nil && gone == nil && os.SameFile(info, now)
}

// Sweep removes what killed processes left in dir: the files and directories that nobody holds, of the names that are
// prefix and a rest that is accepted. What cannot be removed stays.
func Sweep(dir, prefix string, accepted func(rest string) bool) {
	if !locks {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if ok && accepted(rest) && (e.Type().IsRegular() || e.IsDir()) {
			removeDead(filepath.Join(dir, e.Name()))
		}
	}
}

// removeDead removes a file or directory that no process holds.
func removeDead(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock|noFollow, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if lock(f) == nil && named(f, path) {
		os.RemoveAll(path)
	}
}
