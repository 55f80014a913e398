package file

import (
	"os"

	"github.com/pkg/errors"
)

// ErrLocked is the error of locking a file that is already locked.
var ErrLocked = errors.New("in use by another process")

// OpenLock opens a regular file for reading and writing, creates it if it is missing, and locks it until it is closed.
// The system releases the lock when the process ends, however it ends. OpenLock returns ErrLocked if the file is
// already locked, by another process or by this one. It changes no content and follows no link.
//
// Only Unix has such locks; elsewhere two processes may hold a file.
func OpenLock(path string) (*os.File, error) {
	f, err := open(path, os.O_RDWR|os.O_CREATE|noFollow, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		if err == ErrLocked {
			return nil, err
		}
		return nil, errors.Wrapf(err, "lock %s", path)
	}
	return f, nil
}
