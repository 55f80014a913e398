package file

import (
	"io/fs"
	"os"
	"path/filepath"
)

// A Directory is the file system below a path: os.DirFS with the files of Open. Its errors contain complete paths.
type Directory string

// Open opens a regular file, or a directory to list.
func (d Directory) Open(name string) (fs.File, error) {
	path, err := d.path("open", name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	}
	f, err := Open(path)
	if err != nil {
		return nil, err // not f: a nil *os.File is not a nil fs.File
	}
	return f, nil
}

// ReadDir lists a directory.
func (d Directory) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := d.path("readdir", name)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}

// Stat describes a file, or the target of a link.
func (d Directory) Stat(name string) (fs.FileInfo, error) {
	path, err := d.path("stat", name)
	if err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// Lstat describes a file, or the link itself.
func (d Directory) Lstat(name string) (fs.FileInfo, error) {
	path, err := d.path("lstat", name)
	if err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// ReadLink returns the target of a link.
func (d Directory) ReadLink(name string) (string, error) {
	path, err := d.path("readlink", name)
	if err != nil {
		return "", err
	}
	return os.Readlink(path)
}

func (d Directory) path(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(string(d), filepath.FromSlash(name)), nil
}
