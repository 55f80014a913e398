// Package checkpoint keeps the state of a training run in directories that are written whole or not at all. Start
// with Open, which locks a directory to save into, and Load, which finds the newest checkpoint in one.
//
//	out/step-00000250/    the checkpoint before the newest
//	out/step-00000500/    the newest: the caller's files and manifest.json
//	out/.lock             held by the process that saves; it holds the mark of what that process makes beside the above
//
// A checkpoint is written under another name, every file and the directory are flushed to the disk, and only then is it
// renamed; so neither a killed process nor a power cut can leave half of one under its name. Its manifest holds the
// size and the SHA-256 of every file, so that a flipped bit or a missing byte is refused when the checkpoint is loaded.
// This finds damage, not forgery: who can change a file can change the manifest.
//
// Reading takes no memory to speak of: files stay on the disk until they are asked for.
//
// The package stores files with names. Of models it knows one thing, what the folder of one that others have published
// looks like: it has no manifest, and Load opens it all the same.
package checkpoint

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// What callers tell apart with errors.Is.
var (
	// ErrNone: there is no checkpoint, damaged or not.
	ErrNone = errors.New("no checkpoint")
	// ErrDamaged: there are checkpoints, but none of them is intact.
	ErrDamaged = errors.New("no intact checkpoint")
	// ErrLocked: another process saves into the directory.
	ErrLocked = file.ErrLocked
)

// A Checkpoint is what Load found. Its files are open until Close, and stay as they are even if another process
// removes them meanwhile.
type Checkpoint struct {
	Step      int     // the step it was saved at
	Path      string  // its directory, …/step-00000500
	Refused   []error // the newer ones that are damaged, newest first
	Published bool    // a folder without a manifest: nothing says whether its files are what they were

	files map[string]stored
}

// A Fit judges a checkpoint by what its files say of themselves, before all of them are read: whether tensors have the
// shapes that the configuration beside them asks for. What no model asks for is not worth hashing.
type Fit func(*Checkpoint) error

// Load returns the newest checkpoint in path that is intact and fits; path may also be the directory of one checkpoint.
// Others are passed over and listed in Refused. Without an intact one the error is ErrDamaged and names what is wrong
// with each, or ErrNone if there are none at all.
//
// Where there are no checkpoints, path may be the folder of a published model: config.json and files of weights, or
// links to them as in a hub's cache.
//
// It takes no lock, and so can look into the directory of a running training. Who goes on with what it finds and saves
// there reads by Dir.Load, under the lock.
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

// absolute refuses the empty path, which would mean the working directory.
func absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("checkpoint: the directory's name is empty")
	}
	abs, err := filepath.Abs(path)
	return abs, errors.Wrap(err, "checkpoint")
}

// load reads from dir, whose path is for messages; only that name if not empty.
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
		if named := "checkpoint " + c.Path; !strings.HasPrefix(err.Error(), named) { // the methods of c say it themselves
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
