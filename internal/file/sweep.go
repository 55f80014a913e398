package file

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// Hold protects the unfinished file or directory at path from Sweep until it is closed, or until the process ends. The
// error is ErrLocked if Sweep has just removed it. If the system has no locks, Hold and Sweep do nothing.
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
	return f, nil // locked, unless the file system has no locks; Sweep then removes nothing
}

// named reports whether path is still the name of the open file.
func named(f *os.File, path string) bool {
	info, _ := f.Stat() // after an error nil, which is no file
	now, _ := os.Lstat(path)
	return os.SameFile(info, now)
}

// Sweep removes what killed processes left in dir: the files and directories that no process holds and whose names are
// prefix followed by an accepted rest. It ignores what it cannot remove.
func Sweep(dir, prefix string, accepted func(rest string) bool) {
	if !locks {
		return
	}
	entries, _ := os.ReadDir(dir)
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
