package checkpoint

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"path"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

const (
	manifestName   = "manifest.json"
	manifestFormat = "pedestrian checkpoint 1"
	maxManifest    = 1 << 20 // bytes
)

// manifest lists the files of a checkpoint with their sizes and hashes, in ascending order of their names.
type manifest struct {
	Format string  `json:"format"`
	Files  []entry `json:"files"`
}

type entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // lower-case hexadecimal
}

// encode returns the canonical text of a manifest.
func (m manifest) encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// decodeManifest accepts only the text that encode returns: encoding/json alone would also accept keys in another case,
// and thus some flipped bits.
func decodeManifest(text []byte) (manifest, error) {
	var m manifest
	if err := field.Unmarshal(text, &m); err != nil {
		return manifest{}, err
	}
	if canonical, err := m.encode(); err != nil || !bytes.Equal(text, canonical) {
		return manifest{}, errors.New("is not in the canonical form of a manifest")
	}
	if m.Format != manifestFormat {
		return manifest{}, errors.Errorf("format is %.64q, want %q", m.Format, manifestFormat)
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

// readManifest reads the manifest of the checkpoint in dir/name.
func readManifest(dir fs.FS, name string) (m manifest, err error) {
	file := path.Join(name, manifestName)
	info, err := fs.Lstat(dir, file)
	if err != nil {
		return m, err
	}
	if info.Size() > maxManifest {
		return m, errors.Errorf("%d bytes, the limit is %d", info.Size(), maxManifest)
	}
	f, err := openRegular(dir, file, info.Size())
	if err != nil {
		return m, err
	}
	defer f.Close()
	text := make([]byte, info.Size())
	if _, err := io.ReadFull(f, text); err != nil {
		return m, err
	}
	return decodeManifest(text)
}
