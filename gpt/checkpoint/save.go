package checkpoint

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// File is a name and a function that writes the content. The name consists of ASCII letters, digits, and . _ -, and is
// not manifest.json.
type File struct {
	Name  string
	Write func(w io.Writer) error
	// Last, which is optional, writes the content in place of Write, after all files without it. It gets their SHA-256
	// in hexadecimal, by name.
	Last func(w io.Writer, sums map[string]string) error
	// Beside puts a copy of the file beside the checkpoints, in place of an earlier one. It is there before the
	// checkpoint is, so that no checkpoint lacks it.
	Beside bool
}

// Save writes the files as the checkpoint of this step, from 0 to 99999999. After it has returned nil, Load returns
// this checkpoint, whatever happens to the process or the power. Until then, and after an error, Load returns either
// this checkpoint or the previous one, each complete.
//
// Save keeps this checkpoint and the newest of earlier steps, one or Keep, and removes other earlier ones. It replaces
// an existing checkpoint of the same step. It never removes one of a later step: that is an error, unless Dir.Load has
// skipped it as damaged. A process that ends during Save may leave a newer file of File.Beside than the newest
// checkpoint.
func (d *Dir) Save(step int, files []File) error {
	if err := d.open(); err != nil {
		return errors.Wrapf(err, "saving step %d", step)
	}
	err := d.save(step, files)
	if err != nil {
		d.sweep() // errors are ignored: Open and the next Save try again
	}
	return errors.Wrapf(err, "checkpoint %s: saving step %d", d.path, step)
}

func (d *Dir) save(step int, files []File) error {
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
	tmp := d.temporary(tmpPrefix, stepName(step))
	if err := d.stage(tmp, files); err != nil {
		return err
	}
	if err := d.copyBeside(tmp, files); err != nil {
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
		if f.Write == nil {
			return errors.Errorf("file %s: the function that writes it is nil", f.Name)
		}
		if i > 0 && f.Name == files[i-1].Name {
			return errors.Errorf("file %s appears twice", f.Name)
		}
	}
	return nil
}

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }
