//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package checkpoint

import (
	"os"
	"syscall"

	"github.com/pkg/errors"
)

// lockFile locks a file for this process until it is closed; the system lets go of it when the process dies, however it
// dies.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if err == syscall.EWOULDBLOCK {
		return nil, ErrLocked
	}
	return nil, errors.Wrapf(err, "lock %s", path)
}

// syncDir brings the names in a directory to the disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
