// Package checkpoint stores the state of a training run in directories that are written completely or not at all.
// Start with Open, which locks a directory to save into, and Load, which finds the newest checkpoint in one.
//
//	out/step-00000250/    the checkpoint before the newest
//	out/step-00000500/    the newest: the caller's files and manifest.json
//	out/.lock             locked by the process that saves; contains the mark of that process's temporary directories
//
// A checkpoint is written under a temporary name and flushed to the disk, every file and the directory, before it is
// renamed. So neither a killed process nor a power cut can leave half a checkpoint under its name. Its manifest
// contains the size and the SHA-256 of every file, so a flipped bit or a missing byte is detected when the checkpoint
// is loaded. The manifest detects damage, not forgery: an attacker who can change a file can also change the manifest.
//
// Reading takes almost no memory: files stay on the disk until they are opened.
//
// The package stores files by name, whatever they contain. The only exception is the folder of a published model, which
// has no manifest: Load opens it, too.
package checkpoint

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// Errors that callers distinguish with errors.Is.
var (
	// ErrNone means that there is no checkpoint, damaged or not.
	ErrNone = errors.New("no checkpoint")
	// ErrDamaged means that there are checkpoints, but none of them is intact.
	ErrDamaged = errors.New("no intact checkpoint")
	// ErrLocked means that another process has locked the directory to save into it.
	ErrLocked = file.ErrLocked
)

// Checkpoint is a checkpoint found by Load. Its files are open until Close, and keep their content even if another
// process removes them meanwhile.
type Checkpoint struct {
	Step      int     // the step at which it was saved
	Path      string  // its directory, …/step-00000500
	Refused   []error // errors of newer checkpoints that were skipped, newest first
	Published bool    // files without a manifest, whose contents cannot be checked

	files map[string]stored
}

// Fit judges a checkpoint by its headers and settings before all of its files are read and hashed, for example whether
// tensors have the shapes that the configuration requires.
type Fit func(*Checkpoint) error

// Load returns the newest checkpoint in path that is intact and fits. path may also be the directory of one checkpoint.
// Other checkpoints are skipped and listed in Refused. If none is intact, the error is ErrDamaged and describes what is
// wrong with each; if there are none at all, it is ErrNone.
//
// If there are no checkpoints, path may be the folder of a published model: config.json and files of weights, or links
// to them as in a hub's cache.
//
// Load takes no lock, so it can read the directory of a running training. To continue from a checkpoint and save into
// the same directory, use Dir.Load, which reads under the lock.
func Load(path string, fits ...Fit) (*Checkpoint, error) {
	abs, err := absolute(path)
	if err != nil {
		return nil, err
	}
	if name := filepath.Base(abs); isStep(name) {
		return load(file.Directory(filepath.Dir(abs)), filepath.Dir(abs), name, fits)
	}
	c, err := load(file.Directory(abs), abs, "", fits)
	if errors.Is(err, ErrNone) {
		return openFolder(file.Directory(abs), abs, fits)
	}
	return c, err
}

// absolute returns the absolute path. The empty path, which would mean the working directory, is an error.
func absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("checkpoint: the directory's name is empty")
	}
	abs, err := filepath.Abs(path)
	return abs, errors.Wrap(err, "checkpoint")
}

// load reads from dir. path is dir's path, for messages. If only is not empty, load considers only that name.
func load(dir fs.FS, path, only string, fits []Fit) (*Checkpoint, error) {
	names, err := list(dir, only)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Wrap(err, "checkpoint")
	}
	var refused []error
	for _, name := range newestFirst(names) {
		step, _ := stepOf(name)
		c := &Checkpoint{Step: step, Path: filepath.Join(path, name), Refused: refused}
		if err = c.open(dir, name, fits); err == nil {
			return c, nil
		}
		c.Close()
		if named := "checkpoint " + c.Path; !strings.HasPrefix(err.Error(), named) { // errors of c's methods have it
			err = errors.Wrap(err, named)
		}
		refused = append(refused, err)
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

// list returns the names in dir, or only the given name if it is not empty.
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
