package checkpoint

import (
	"io"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// Dir is a directory of checkpoints into which only this process saves. It must not be used by two goroutines at the
// same time.
type Dir struct {
	// Keep is the number of checkpoints of earlier steps that Save keeps; less than 1 means 1.
	Keep int

	path    string
	disk    disk
	lock    io.Closer
	mark    string          // in the names of its temporary directories
	refused map[string]bool // names that Load has skipped
}

// Open creates the directory if it does not exist, locks it until Close, and removes temporary directories that a
// killed process of this package has left; it recognises them by the mark stored in the directory. The error is
// ErrLocked if another process has the directory open. (The lock is advisory, and is taken on Unix only.)
func Open(path string) (*Dir, error) {
	abs, err := absolute(path)
	if err != nil {
		return nil, err
	}
	if err := makeDir(abs); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", path)
	}
	lock, err := file.OpenLock(filepath.Join(abs, lockName))
	if err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", path)
	}
	d := &Dir{path: abs, disk: osDisk{}, lock: lock}
	if d.mark, err = markIn(lock); err == nil {
		err = d.sweep()
	}
	if err != nil {
		lock.Close()
		return nil, errors.Wrapf(err, "checkpoint %s", path)
	}
	return d, nil
}

// Load is the function Load for the directory's checkpoints, under the lock: no other process can save between it and
// the next Save.
func (d *Dir) Load(fits ...Fit) (*Checkpoint, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	names, err := d.disk.list(d.path)
	if err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", d.path)
	}
	c, err := load(file.Directory(d.path), d.path, "", fits)
	d.refused = map[string]bool{}
	for _, name := range newestFirst(names) {
		if c == nil || name == filepath.Base(c.Path) {
			break
		}
		d.refused[name] = true
	}
	return c, err
}

// open returns an error unless d is between Open and Close.
func (d *Dir) open() error {
	switch {
	case d == nil:
		return errors.New("checkpoint: no directory (nil)")
	case d.lock == nil:
		return errors.Errorf("checkpoint %s: the directory is closed", d.path)
	}
	return nil
}

// Close unlocks the directory. Save is an error afterwards.
func (d *Dir) Close() error {
	if d == nil || d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return errors.Wrapf(err, "checkpoint %s", d.path)
}

// makeDir creates a directory and its parents, and flushes them to the disk.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o755)
	if errors.Is(err, os.ErrNotExist) {
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o755)
	}
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.SyncDir(filepath.Dir(path))
}
