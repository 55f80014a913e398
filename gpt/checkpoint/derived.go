package checkpoint

import (
	"bytes"
	"io"
	"io/fs"

	"github.com/pkg/errors"
)

// Derive returns a checkpoint of files that are derived from another file at path, and have no manifest, if it fits.
// Close does not close that file.
func Derive(path string, files map[string]*io.SectionReader, fits ...Fit) (*Checkpoint, error) {
	c := &Checkpoint{Path: path, Published: true, files: map[string]stored{}}
	for name, r := range files {
		if r == nil {
			return nil, errors.Errorf("file %s: %s: got nil, want a reader", path, name)
		}
		c.files[name] = stored{entry{Name: name, Size: r.Size()}, derived{r}}
	}
	return c, errors.Wrapf(c.fit(fits), "file %s", path)
}

// Add adds a file that is derived from others.
func (c *Checkpoint) Add(name string, data []byte) error {
	switch {
	case c == nil || c.files == nil:
		return errors.Errorf("%s: no checkpoint to add it to (nil)", name)
	case checkName(name) != nil:
		return errors.Wrapf(checkName(name), "checkpoint %s", c.Path)
	case c.files[name].file != nil:
		return errors.Errorf("checkpoint %s: %s is there already", c.Path, name)
	}
	r := io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
	c.files[name] = stored{entry{Name: name, Size: r.Size()}, derived{r}}
	return nil
}

// derived is a file that is derived from another one.
type derived struct{ *io.SectionReader }

// Stat returns an error: the file is nowhere.
func (derived) Stat() (fs.FileInfo, error) {
	return nil, errors.Wrap(fs.ErrInvalid, "stat of a derived file")
}

// Close does nothing: the tensors of an open model may be in the mapped file, which is unmapped with them.
func (derived) Close() error { return nil }
