package program

import (
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// WriteWhole writes a file under another name first, so that there is never half of one, and what was there before
// stays if that fails.
func WriteWhole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := errors.Wrap(write(f), path); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
