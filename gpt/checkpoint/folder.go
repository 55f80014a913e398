package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// Files of the folder of a published model.
const (
	configName = "config.json"
	weightsEnd = ".safetensors"
	maxOpen    = 1000 // number of files that are opened
)

// openFolder opens the folder dir at path as a published model's, with its files of text and weights. The error is
// ErrNone if the folder has no weights, or has a manifest and is therefore a renamed checkpoint.
func openFolder(dir fs.FS, path string, fits []Fit) (*Checkpoint, error) {
	names, _ := list(dir, "") // load has already returned the error, if any
	// Files of weights, or their index.
	weights := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, weightsEnd) })
	switch {
	case slices.Contains(names, manifestName) || !weights && !slices.Contains(names, configName):
		return nil, errors.Wrapf(ErrNone, "checkpoint %s", path)
	case !weights && slices.ContainsFunc(names, isPickle):
		return nil, errors.Wrapf(ErrNone, "checkpoint %s: %s with weights as pickles of PyTorch, which may run code, "+
			"want %s: python3 -c \"from transformers import AutoModelForCausalLM as M; "+
			"M.from_pretrained('.').save_pretrained('.', safe_serialization=True)\" in the folder converts them",
			path, configName, weightsEnd)
	case !weights: // a run that has not saved yet, or weights in another format
		return nil, errors.Wrapf(ErrNone, "checkpoint %s: %s without weights, %s", path, configName, weightsEnd)
	}
	c := &Checkpoint{Path: path, Published: true, files: map[string]stored{}}
	if err := c.openFiles(dir, names, fits); err != nil {
		c.Close()
		return nil, errors.Wrapf(err, "folder %s", path)
	}
	return c, nil
}

// isPickle reports whether a file has the name of weights, or of their index, as PyTorch saves them.
func isPickle(name string) bool {
	return strings.HasPrefix(name, "pytorch_model") && strings.Contains(name, ".bin")
}

func (c *Checkpoint) openFiles(dir fs.FS, names []string, fits []Fit) error {
	for _, name := range names {
		if !slices.Contains([]string{".json", ".txt", ".jinja", weightsEnd}, filepath.Ext(name)) {
			continue // pickles, pictures, …
		}
		info, err := fs.Stat(dir, name) // follows links
		if err != nil || info.IsDir() {
			continue // Open will report it as missing
		}
		if !info.Mode().IsRegular() {
			return errors.Errorf("%s is %s, want a regular file", name, file.Kind(info.Mode()))
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

// WriteFolder writes files as the folder of a published model at path, without a manifest, completely or not at all. If
// path exists, it must be an empty directory.
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
	d.sweepFolders(filepath.Base(abs))
	tmp := d.temporary(tmpPrefix, filepath.Base(abs))
	defer os.RemoveAll(tmp) // after an error
	return errors.Wrapf(d.fill(tmp, abs, files, empty), "folder %s", path)
}

// sweepFolders removes what killed processes have left of a folder of that name. It leaves temporary directories of
// steps to the Dir with their mark.
func (d *Dir) sweepFolders(name string) {
	if !isStep(name) {
		file.Sweep(d.path, tmpPrefix, func(rest string) bool {
			mark, of, _ := strings.Cut(rest, "-")
			return isMark(mark) && of == name
		})
	}
}

// fill writes the files into the directory tmp, flushes them to the disk, and then renames tmp to path, which may be an
// empty directory.
func (d *Dir) fill(tmp, path string, files []File, empty bool) error {
	if err := d.disk.mkdir(tmp); err != nil {
		return err
	}
	holder, err := file.Hold(tmp)
	if err != nil {
		return err
	}
	defer holder.Close()
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
