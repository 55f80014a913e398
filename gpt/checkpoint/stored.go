package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// MaxFile is the size in bytes of the largest file that [Checkpoint.File] reads into memory. The largest files in
// practice are published tokenizers.
const MaxFile = 32 << 20

// stored is an open file and its entry of the manifest.
type stored struct {
	entry
	file readable
}

// readable is a file that can be read at any offset.
type readable interface {
	fs.File
	io.ReaderAt
}

// open opens the files of the checkpoint in dir/name. They must match the manifest exactly; other files are ignored.
func (c *Checkpoint) open(dir fs.FS, name string, fits []Fit) error {
	m, err := readManifest(dir, name)
	if err != nil {
		return errors.Wrap(err, manifestName)
	}
	c.files = make(map[string]stored, len(m.Files))
	for _, e := range m.Files {
		s := stored{entry: e}
		if s.file, err = openRegular(dir, path.Join(name, e.Name), e.Size); err != nil {
			return errors.Wrap(err, e.Name)
		}
		c.files[e.Name] = s
	}
	if err := c.fit(fits); err != nil {
		return err
	}
	for _, e := range m.Files {
		h := sha256.New()
		if _, err := io.Copy(h, c.files[e.Name].reader()); err != nil {
			return errors.Wrap(err, e.Name)
		}
		if err := e.match(h.Sum(nil)); err != nil {
			return err
		}
	}
	return nil
}

// fit returns the first error of the fits.
func (c *Checkpoint) fit(fits []Fit) error {
	for _, fit := range fits {
		if fit == nil {
			continue
		}
		if err := fit(c); err != nil {
			return err
		}
	}
	return nil
}

func (s stored) reader() *io.SectionReader { return io.NewSectionReader(s.file, 0, s.Size) }

// match returns an error unless sum is the SHA-256 of e.
func (e entry) match(sum []byte) error {
	if got := hex.EncodeToString(sum); got != e.SHA256 {
		return errors.Errorf("%s: got SHA-256 %s, want %.64q", e.Name, got, e.SHA256)
	}
	return nil
}

// Names lists the files of the checkpoint.
func (c *Checkpoint) Names() []string {
	if c == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(c.files))
}

// Open returns a reader of a file of the checkpoint. If there is no such file, the error is fs.ErrNotExist.
func (c *Checkpoint) Open(name string) (*io.SectionReader, error) {
	if c == nil {
		return nil, errors.Wrapf(fs.ErrNotExist, "no checkpoint (nil): %s", name)
	}
	s, ok := c.files[name]
	if !ok {
		return nil, errors.Wrapf(fs.ErrNotExist, "checkpoint %s: %s", c.Path, name)
	}
	return s.reader(), nil
}

// File returns the content of a file of the checkpoint of at most MaxFile bytes, such as its settings. If there is no
// such file, the error is fs.ErrNotExist.
func (c *Checkpoint) File(name string) ([]byte, error) {
	r, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	if r.Size() > MaxFile {
		return nil, errors.Errorf("checkpoint %s: %s: got %d bytes, want at most %d", c.Path, name, r.Size(), MaxFile)
	}
	content := make([]byte, r.Size())
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s: %s", c.Path, name)
	}
	if c.Published {
		return content, nil
	}
	sum := sha256.Sum256(content) // a Fit reads files before all hashes are compared
	return content, errors.Wrapf(c.files[name].match(sum[:]), "checkpoint %s", c.Path)
}

// SHA256 returns the hash of a file of the checkpoint in hexadecimal, which Load has compared with the content. It is
// empty if there is no such file, or no manifest.
func (c *Checkpoint) SHA256(name string) string {
	if c == nil {
		return ""
	}
	return c.files[name].SHA256
}

// Close closes the files. Nothing can be read afterwards.
func (c *Checkpoint) Close() error {
	if c == nil {
		return nil
	}
	var first error
	for _, s := range c.files {
		first = cmp.Or(first, s.file.Close())
	}
	c.files = nil
	return errors.Wrapf(first, "checkpoint %s", c.Path)
}

// openRegular opens a regular file of that size, not a link or a pipe.
func openRegular(dir fs.FS, name string, size int64) (readable, error) {
	info, err := fs.Lstat(dir, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.Errorf("is %s, want a regular file", file.Kind(info.Mode()))
	}
	if info.Size() != size {
		return nil, errors.Errorf("got %d bytes, want %d", info.Size(), size)
	}
	return openReadable(dir, name)
}

// openReadable opens a file, or the target of a link.
func openReadable(dir fs.FS, name string) (readable, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	r, ok := f.(readable)
	if !ok {
		f.Close()
		return nil, errors.New("cannot be read at any offset")
	}
	return r, nil
}
