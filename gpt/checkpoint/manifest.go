package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"

	"github.com/pkg/errors"
)

const (
	manifestName   = "manifest.json"
	manifestFormat = "pedestrian checkpoint 1"
	maxManifest    = 1 << 20 // bytes
)

// A manifest says what the files of a checkpoint hold, by ascending name.
type manifest struct {
	Format string  `json:"format"`
	Files  []entry `json:"files"`
}

type entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // lower-case hexadecimal
}

// encode is the one way to write a manifest down.
func (m manifest) encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// decodeManifest accepts only what encode writes: encoding/json alone would also take keys in another case, and so some
// flipped bits.
func decodeManifest(text []byte) (manifest, error) {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return manifest{}, err
	}
	if canonical, err := m.encode(); err != nil || !bytes.Equal(text, canonical) {
		return manifest{}, errors.New("is not written as a manifest is")
	}
	if m.Format != manifestFormat {
		return manifest{}, errors.Errorf("format is %q, want %q", m.Format, manifestFormat)
	}
	if len(m.Files) == 0 {
		return manifest{}, errors.New("names no file")
	}
	for i, e := range m.Files {
		if err := checkName(e.Name); err != nil {
			return manifest{}, err
		}
		if i > 0 && m.Files[i-1].Name >= e.Name {
			return manifest{}, errors.Errorf("%s stands after %s", e.Name, m.Files[i-1].Name)
		}
	}
	return m, nil
}

// verify reads the files of the checkpoint in dir/name. They must be exactly what the manifest says; other files are
// not looked at.
func verify(dir fs.FS, name string) (map[string][]byte, error) {
	text, err := readRegular(dir, path.Join(name, manifestName), func(size int64) error {
		if size > maxManifest {
			return errors.Errorf("%d bytes, the limit is %d", size, maxManifest)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Wrap(err, manifestName)
	}
	m, err := decodeManifest(text)
	if err != nil {
		return nil, errors.Wrap(err, manifestName)
	}
	files := make(map[string][]byte, len(m.Files))
	for _, e := range m.Files {
		content, err := readRegular(dir, path.Join(name, e.Name), func(size int64) error {
			if size != e.Size {
				return errors.Errorf("got %d bytes, want %d", size, e.Size)
			}
			return nil
		})
		if err != nil {
			return nil, errors.Wrap(err, e.Name)
		}
		sum := sha256.Sum256(content)
		if got := hex.EncodeToString(sum[:]); got != e.SHA256 || int64(len(content)) != e.Size {
			return nil, errors.Errorf("%s: got SHA-256 %s, want %s", e.Name, got, e.SHA256)
		}
		files[e.Name] = content
	}
	return files, nil
}

// readRegular reads a file that is one: no link, no pipe, and of a size that is checked before memory is taken for it.
func readRegular(dir fs.FS, name string, checkSize func(int64) error) ([]byte, error) {
	info, err := fs.Lstat(dir, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.Errorf("is no regular file but %s", info.Mode())
	}
	if err := checkSize(info.Size()); err != nil {
		return nil, err
	}
	return fs.ReadFile(dir, name)
}
