package checkpoint

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// A File is a name and what writes the content. The name is of ASCII letters, digits, and . _ -, and is not
// manifest.json.
type File struct {
	Name  string
	Write func(w io.Writer) error
}

// A Dir is a directory of checkpoints that this process alone saves into. It must not be used by two goroutines at the
// same time.
type Dir struct {
	path    string
	disk    disk
	lock    io.Closer
	mark    string          // of what it makes beside checkpoints
	refused map[string]bool // names that Load has passed over
}

// Open makes the directory if it is missing, locks it until Close, and removes what a killed process of this package
// left unfinished: what has the mark that it keeps in the directory. The error is ErrLocked if another process has it
// open. (The lock is advisory, and is taken on Unix only.)
func Open(path string) (*Dir, error) {
	abs, err := absolute(path)
	if err != nil {
		return nil, err
	}
	if err := makeDir(abs); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", path)
	}
	lock, err := lockFile(filepath.Join(abs, lockName))
	if err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", path)
	}
	d := &Dir{path: abs, disk: osDisk{}, lock: lock}
	if d.mark, err = markIn(lock); err == nil {
		err = d.sweep()
	}
	if err != nil {
		lock.Close()
		return nil, errors.Wrapf(err, "checkpoint %s", path)
	}
	return d, nil
}

// Load is the function Load on the directory, under the lock: no other process saves between what it reads and the next
// Save.
func (d *Dir) Load(fits ...Fit) (*Checkpoint, error) {
	if d.lock == nil {
		return nil, errors.Errorf("checkpoint %s: the directory is closed", d.path)
	}
	names, err := d.disk.list(d.path)
	if err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", d.path)
	}
	c, err := Load(d.path, fits...)
	d.refused = map[string]bool{}
	for _, name := range newestFirst(names) {
		if c == nil || name == filepath.Base(c.Path) {
			break
		}
		d.refused[name] = true
	}
	return c, err
}

// Close lets go of the directory; Save is an error from then on.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return errors.Wrapf(err, "checkpoint %s", d.path)
}

// Save writes the files as the checkpoint of this step, from 0 to 99999999. When it has returned nil, Load returns this
// checkpoint, whatever happens to the process or the power; until then, and after an error, Load returns this one or
// the one before, whole.
//
// It keeps this checkpoint and the newest of an earlier step, and removes earlier others. A step that is there already is
// replaced. It never removes a later one: that is an error, unless Dir.Load has passed it over as damaged.
func (d *Dir) Save(step int, files []File) error {
	err := d.save(step, files)
	if err != nil && d.lock != nil {
		d.sweep() // as far as it can; Open and the next Save try again
	}
	return errors.Wrapf(err, "checkpoint %s: saving step %d", d.path, step)
}

func (d *Dir) save(step int, files []File) error {
	if d.lock == nil {
		return errors.New("the directory is closed")
	}
	if step < 0 || step > maxStep {
		return errors.Errorf("the step must be from 0 to %d", maxStep)
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	if err := checkFiles(files); err != nil {
		return err
	}
	if err := d.sweep(); err != nil {
		return err
	}
	if err := d.checkLater(step); err != nil {
		return err
	}
	tmp := d.made(tmpPrefix, stepName(step))
	if err := d.stage(tmp, files); err != nil {
		return err
	}
	if err := d.publish(tmp, stepName(step)); err != nil {
		return err
	}
	return d.prune(step)
}

func checkFiles(files []File) error {
	if len(files) == 0 {
		return errors.New("no files")
	}
	for i, f := range files {
		if err := checkName(f.Name); err != nil {
			return err
		}
		if i > 0 && f.Name == files[i-1].Name {
			return errors.Errorf("file %s appears twice", f.Name)
		}
	}
	return nil
}

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }

// makeDir makes a directory and those above it, down to the disk.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o755)
	if errors.Is(err, os.ErrNotExist) {
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o755)
	}
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
