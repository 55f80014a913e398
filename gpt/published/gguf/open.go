package gguf

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// memory holds the bytes of a file.
type memory struct{ data []byte }

// Open reads the header of a file and maps the file into memory: numbers are read from it when they are used, and stay
// there until the File and its tensors are no longer referenced. Meanwhile the file must not be changed or cut. On
// systems other than Unix, Open reads the entire file.
func Open(path string) (*File, error) {
	f, err := file.Open(path) // a regular file
	if err != nil {
		return nil, wrapf(err, "%s", path)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, wrapf(err, "%s", path)
	case info.Size() < 24 || info.Size() > math.MaxInt/2:
		return nil, errorf("%s: got %d bytes, want at least 24", path, info.Size())
	}
	m, err := mapped(f, info.Size())
	if err != nil {
		return nil, wrapf(err, "%s", path)
	}
	r, err := read(m)
	if err != nil {
		return nil, wrapf(err, "%s", path)
	}
	return r, nil
}
