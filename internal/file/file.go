// Package file opens files for all other packages of the module. It opens regular files only and never blocks. Start
// with Open, Read and Replace.
//
// Opening a FIFO blocks until another process opens its other end, opening a device may change it, and a pipe can be
// read only once, while a resumed run reads its text again. Anything but a regular file is therefore an error that
// contains the path and the kind of file. A symbolic link to a regular file is followed, except by OpenLock. It follows
// that /dev/stdin and a shell's <(…) are accepted only if they stand for a regular file, as in `program < text.txt`.
package file

import (
	"io/fs"
	"os"

	"github.com/pkg/errors"
)

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) { return open(path, os.O_RDONLY, 0) }

// Create creates a file for writing. It returns an error if path exists.
func Create(path string) (*os.File, error) {
	return open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// Append opens a regular file for writing at its end. It creates the file if it is missing.
func Append(path string) (*os.File, error) {
	return open(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}

// Overwrite opens a regular file for writing and removes its content. It creates the file if it is missing.
func Overwrite(path string) (*os.File, error) {
	f, err := open(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// open is os.OpenFile for regular files. It looks at the file before it opens it, because opening alone may change a
// device, and again afterwards, because another file may have taken its place.
func open(path string, flag int, mode fs.FileMode) (*os.File, error) {
	look := os.Stat
	if flag&(noFollow|os.O_EXCL) != 0 {
		look = os.Lstat
	}
	if info, err := look(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: irregular(info.Mode())}
	}
	return openUnseen(path, flag, mode)
}

// openUnseen opens a file of unknown kind, and closes it again if it is not a regular file.
func openUnseen(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|nonBlock, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: irregular(info.Mode())}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// irregular returns the error for a file of that mode, which is not a regular file.
func irregular(mode fs.FileMode) error {
	return errors.Errorf("is %s, want a regular file", Kind(mode))
}

// Kind returns the kind of a file in words: a regular file, a directory, a FIFO, a socket, a device or a symbolic link.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a file of mode " + mode.String()
}
