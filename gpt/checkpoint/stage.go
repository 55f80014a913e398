package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"path/filepath"

	"github.com/pkg/errors"
)

// stage writes a complete checkpoint under its temporary name, and flushes it to the disk.
func (d *Dir) stage(tmp string, files []File) error {
	if err := d.disk.mkdir(tmp); err != nil {
		return err
	}
	entries, err := d.stageFiles(tmp, files)
	if err != nil {
		return err
	}
	text, err := manifest{manifestFormat, entries}.encode()
	if err != nil {
		return errors.Wrap(err, manifestName)
	}
	if len(text) > maxManifest {
		return errors.Errorf("%s: %d bytes, the limit is %d", manifestName, len(text), maxManifest)
	}
	_, err = d.write(tmp, manifestName, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return errors.Wrap(err, manifestName)
	}
	return d.disk.syncDir(tmp)
}

// stageFiles writes these files into the directory tmp, first those without Last, and returns their entries of the
// manifest.
func (d *Dir) stageFiles(tmp string, files []File) (entries []entry, err error) {
	entries = make([]entry, len(files))
	sums := map[string]string{}
	for _, last := range []bool{false, true} {
		for i, f := range files {
			if (f.Last != nil) != last {
				continue
			}
			write := f.Write
			if last {
				write = func(w io.Writer) error { return f.Last(w, maps.Clone(sums)) }
			}
			if entries[i], err = d.write(tmp, f.Name, write); err != nil {
				return nil, errors.Wrap(err, f.Name)
			}
		}
		for _, e := range entries {
			if e.Name != "" {
				sums[e.Name] = e.SHA256
			}
		}
	}
	return entries, nil
}

// write writes one file, flushes it to the disk, and returns its entry of the manifest.
func (d *Dir) write(tmp, name string, write func(io.Writer) error) (entry, error) {
	out, err := d.disk.create(filepath.Join(tmp, name))
	if err != nil {
		return entry{}, err
	}
	sum := &counter{Hash: sha256.New()}
	buf := bufio.NewWriterSize(io.MultiWriter(out, sum), 1<<16)
	err = write(buf)
	for _, finish := range []func() error{buf.Flush, out.Sync} {
		if err == nil {
			err = finish()
		}
	}
	if e := out.Close(); err == nil {
		err = e
	}
	return entry{name, sum.n, hex.EncodeToString(sum.Sum(nil))}, err
}

// counter is a hash that counts its bytes.
type counter struct {
	hash.Hash
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}
