package checkpoint

import (
	"io"
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

// Save writes the files as the checkpoint of this step, from 0 to 99999999. When it has returned nil, Load returns this
// checkpoint, whatever happens to the process or the power; until then, and after an error, Load returns this one or
// the one before, whole.
//
// It keeps this checkpoint and the newest of an earlier step, and removes earlier others. A step that is there already
// is replaced. It never removes a later one: that is an error, unless Dir.Load has passed it over as damaged.
func (d *Dir) Save(step int, files []File) error {
	if err := d.open(); err != nil {
		return errors.Wrapf(err, "saving step %d", step)
	}
	err := d.save(step, files)
	if err != nil {
		d.sweep() // as far as it can; Open and the next Save try again
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
		if f.Write == nil {
			return errors.Errorf("file %s: there is no function that writes it", f.Name)
		}
		if i > 0 && f.Name == files[i-1].Name {
			return errors.Errorf("file %s appears twice", f.Name)
		}
	}
	return nil
}

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }
