package checkpoint

import (
	"io"
	"os"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// A disk is what Save does to the file system. Tests make each of its operations fail, and replay what a power cut may
// leave of them.
type disk interface {
	list(dir string) ([]string, error) // base names
	mkdir(dir string) error
	create(path string) (writable, error) // must not exist
	rename(from, to string) error
	removeAll(path string) error
	syncDir(dir string) error // names made, changed and removed in dir are on the disk
}

// A writable is a file that a disk has made.
type writable interface {
	io.WriteCloser
	Sync() error // what was written is on the disk
}

// osDisk is the real one.
type osDisk struct{}

func (osDisk) list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	return namesOf(entries), err
}

func (osDisk) mkdir(dir string) error { return os.Mkdir(dir, 0o755) }

func (osDisk) create(path string) (writable, error) {
	f, err := file.Create(path)
	if err != nil {
		return nil, err // not f: a nil *os.File is no nil writable
	}
	return f, nil
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) removeAll(path string) error { return os.RemoveAll(path) }

func (osDisk) syncDir(dir string) error { return file.SyncDir(dir) }
