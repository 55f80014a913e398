package checkpoint

import (
	"io"
	"io/fs"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pkg/errors"
)

// ggufEnd is the end of a GGUF file's name.
const ggufEnd = ".gguf"

// openGGUF opens a GGUF file as the folder of a published model.
func openGGUF(path string, fits []Fit) (*Checkpoint, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Wrapf(ErrNone, "checkpoint %s", path)
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	files, err := f.Folder()
	if err != nil {
		return nil, errors.Wrapf(err, "file %s", path)
	}
	c := &Checkpoint{Path: path, Published: true, GGUF: f, files: map[string]stored{}}
	for name, r := range files {
		c.files[name] = stored{entry{Name: name, Size: r.Size()}, derived{r}}
	}
	if err := c.fit(fits); err != nil {
		return nil, errors.Wrapf(err, "file %s", path)
	}
	return c, nil
}

// derived is a file of a folder that is derived from another file.
type derived struct{ *io.SectionReader }

// Stat returns an error: the file is nowhere.
func (derived) Stat() (fs.FileInfo, error) {
	return nil, errors.Wrap(fs.ErrInvalid, "stat of a derived file")
}

// Close does nothing: the tensors of an open model may be in the mapped file, which is unmapped with them.
func (derived) Close() error { return nil }
