package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// The files that make a folder a published model's.
const (
	configName = "config.json"
	weightsEnd = ".safetensors"
	maxOpen    = 1000 // files of a folder
)

// openFolder opens the folder at path, dir, as a model's that was published: its files of text and weights. The error
// is ErrNone if it has no weights, or a manifest and so is a checkpoint of another name.
func openFolder(dir fs.FS, path string, fits []Fit) (*Checkpoint, error) {
	names, err := list(dir, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Wrap(err, "checkpoint")
	}
	// of weights, or their index
	weights := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, weightsEnd) })
	switch {
	case slices.Contains(names, manifestName) || !weights && !slices.Contains(names, configName):
		return nil, errors.Wrapf(ErrNone, "checkpoint %s", path)
	case !weights: // a run that has saved nothing yet, or weights in another form
		return nil, errors.Wrapf(ErrNone, "checkpoint %s: %s without weights, %s", path, configName, weightsEnd)
	}
	c := &Checkpoint{Path: path, Published: true, files: map[string]stored{}}
	if err := c.openFiles(dir, names, fits); err != nil {
		c.Close()
		return nil, errors.Wrapf(err, "folder %s", path)
	}
	return c, nil
}

func (c *Checkpoint) openFiles(dir fs.FS, names []string, fits []Fit) error {
	for _, name := range names {
		if !slices.Contains([]string{".json", ".txt", weightsEnd}, filepath.Ext(name)) {
			continue // pickles, pictures, …
		}
		info, err := fs.Stat(dir, name) // of what a link leads to
		if err != nil || !info.Mode().IsRegular() {
			continue // to whoever asks for it, it is missing
		}
		if len(c.files) == maxOpen {
			return errors.Errorf("got more than %d files, want a model's", maxOpen)
		}
		f, err := openReadable(dir, name)
		if err != nil {
			return errors.Wrap(err, name)
		}
		c.files[name] = stored{entry{Name: name, Size: info.Size()}, f}
	}
	if _, ok := c.files[configName]; !ok {
		return errors.Errorf("%s is missing", configName)
	}
	return c.fit(fits)
}

// WriteFolder writes files as models are published: a folder at path, without a manifest, whole or not at all. There
// must be nothing at path but an empty directory.
func WriteFolder(path string, files []File) error {
	abs, err := absolute(path)
	if err != nil {
		return err
	}
	if err := checkFiles(files); err != nil {
		return errors.Wrapf(err, "folder %s", path)
	}
	entries, err := os.ReadDir(abs)
	empty := err == nil && len(entries) == 0
	if !empty && !errors.Is(err, fs.ErrNotExist) {
		return errors.Errorf("folder %s: there is something already, want a new name or an empty directory", path)
	}
	if err := makeDir(filepath.Dir(abs)); err != nil {
		return errors.Wrapf(err, "folder %s", path)
	}
	d := &Dir{path: filepath.Dir(abs), disk: osDisk{}, mark: newMark()}
	tmp := d.made(tmpPrefix, filepath.Base(abs))
	if err := d.fill(tmp, abs, files, empty); err != nil {
		os.RemoveAll(tmp)
		return errors.Wrapf(err, "folder %s", path)
	}
	return nil
}

// fill writes the files into the directory tmp, down to the disk, and only then names it path, in place of an empty
// directory.
func (d *Dir) fill(tmp, path string, files []File, empty bool) error {
	if _, err := d.stageFiles(tmp, files); err != nil {
		return err
	}
	if err := d.disk.syncDir(tmp); err != nil {
		return err
	}
	if empty {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if err := d.disk.rename(tmp, path); err != nil {
		return err
	}
	return d.disk.syncDir(d.path)
}
