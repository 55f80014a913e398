// Package checkpoint keeps the state of a training run in directories that are written whole or not at all.
//
//	out/step-00000250/    the checkpoint before the newest
//	out/step-00000500/    the newest: the caller's files and manifest.json
//	out/.lock             held by the process that saves
//
// A checkpoint is written under another name, every file and the directory are flushed to the disk, and only then is it
// renamed; so neither a killed process nor a power cut can leave half of one under its name. Its manifest holds the
// size and the SHA-256 of every file, so that a flipped bit or a missing byte is refused when the checkpoint is loaded.
// This finds damage, not forgery: who can change a file can change the manifest.
//
// The package knows nothing of models. It stores files with names.
package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// What callers tell apart with errors.Is.
var (
	// ErrNone: there is no checkpoint, damaged or not.
	ErrNone = errors.New("no checkpoint")
	// ErrDamaged: there are checkpoints, but none of them is intact.
	ErrDamaged = errors.New("no intact checkpoint")
	// ErrLocked: another process saves into the directory.
	ErrLocked = errors.New("in use by another process")
)

// A Checkpoint is what Load found, its files in memory.
type Checkpoint struct {
	Step    int     // the step it was saved at
	Path    string  // its directory, …/step-00000500
	Refused []error // the newer ones that are damaged, newest first

	files map[string][]byte
}

// Load returns the newest intact checkpoint in path, which may also be the directory of one checkpoint. Damaged ones
// are passed over and listed in Refused. Without an intact one the error is ErrDamaged and names what is wrong with
// each, or ErrNone if there are none at all.
//
// It takes no lock, and so can look into the directory of a running training.
func Load(path string) (*Checkpoint, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, errors.Wrap(err, "checkpoint")
	}
	if name := filepath.Base(abs); isStep(name) {
		return load(os.DirFS(filepath.Dir(abs)), filepath.Dir(abs), name)
	}
	return load(os.DirFS(abs), abs, "")
}

// load reads from dir, whose path is for messages; only that name if not empty.
func load(dir fs.FS, path, only string) (*Checkpoint, error) {
	names, err := list(dir, only)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Wrap(err, "checkpoint")
	}
	var refused []error
	for _, name := range newestFirst(names) {
		files, err := verify(dir, name)
		if err == nil {
			step, _ := stepOf(name)
			return &Checkpoint{step, filepath.Join(path, name), refused, files}, nil
		}
		refused = append(refused, errors.Wrapf(err, "checkpoint %s", filepath.Join(path, name)))
	}
	if len(refused) == 0 {
		return nil, errors.Wrapf(ErrNone, "checkpoint %s", filepath.Join(path, only))
	}
	reasons := make([]string, len(refused))
	for i, err := range refused {
		reasons[i] = err.Error()
	}
	return nil, errors.Wrap(ErrDamaged, strings.Join(reasons, "; "))
}

// list returns the names in dir; just only, if that is not empty.
func list(dir fs.FS, only string) ([]string, error) {
	if only != "" {
		if _, err := fs.Lstat(dir, only); err != nil {
			return nil, err
		}
		return []string{only}, nil
	}
	entries, err := fs.ReadDir(dir, ".")
	return namesOf(entries), err
}

func namesOf(entries []fs.DirEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// File returns the content of a file of the checkpoint. Without such a file the error is fs.ErrNotExist.
func (c *Checkpoint) File(name string) ([]byte, error) {
	content, ok := c.files[name]
	if !ok {
		return nil, errors.Wrapf(fs.ErrNotExist, "checkpoint %s: %s", c.Path, name)
	}
	return content, nil
}
