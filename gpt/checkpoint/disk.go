package checkpoint

import (
	"io"
	"os"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// disk contains the file system operations of Save. Tests make each of them fail, and replay what a power cut may leave
// of them.
type disk interface {
	list(dir string) ([]string, error) // base names
	mkdir(dir string) error
	create(path string) (writable, error) // path must not exist
	open(path string) (io.ReadCloser, error)
	rename(from, to string) error // a file takes the place of a file
	removeAll(path string) error
	syncDir(dir string) error // flushes the names created, changed and removed in dir to the disk
}

// writable is a file that a disk has created.
type writable interface {
	io.WriteCloser
	Sync() error // flushes the content to the disk
}

// osDisk is the disk of the operating system.
type osDisk struct{}

func (osDisk) list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	return namesOf(entries), err
}

func (osDisk) mkdir(dir string) error { return os.Mkdir(dir, 0o755) }

func (osDisk) create(path string) (writable, error) {
	f, err := file.Create(path)
	if err != nil {
		return nil, err // not f: a nil *os.File is not a nil writable
	}
	return f, nil
}

func (osDisk) open(path string) (io.ReadCloser, error) { return file.Open(path) }

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) removeAll(path string) error { return os.RemoveAll(path) }

func (osDisk) syncDir(dir string) error { return file.SyncDir(dir) }
