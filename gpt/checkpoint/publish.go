package checkpoint

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// publish renames a staged checkpoint to its final name. A directory cannot be replaced in one step, so an existing one
// of the same name is first renamed to a backup, which Load still finds.
func (d *Dir) publish(tmp, name string) error {
	names, err := d.disk.list(d.path)
	if err != nil {
		return err
	}
	backup := ""
	if slices.Contains(names, name) {
		backup = name + backupSuffix
		if slices.Contains(names, backup) { // an earlier Save ended between the two renames
			if err := d.remove(backup); err != nil {
				return err
			}
		}
		if err := d.disk.rename(d.join(name), d.join(backup)); err != nil {
			return err
		}
	}
	if err := d.disk.rename(tmp, d.join(name)); err != nil {
		if backup != "" {
			d.disk.rename(d.join(backup), d.join(name)) // if this fails, Load finds the backup
		}
		return err
	}
	return d.disk.syncDir(d.path)
}

// copyBeside copies the files with Beside of a staged checkpoint into the directory, each completely or not at all.
func (d *Dir) copyBeside(tmp string, files []File) error {
	for _, f := range files {
		if !f.Beside {
			continue
		}
		copied := d.temporary(tmpPrefix, f.Name)
		_, err := d.write(d.path, filepath.Base(copied), func(w io.Writer) error {
			staged, err := d.disk.open(filepath.Join(tmp, f.Name))
			if err != nil {
				return err
			}
			defer staged.Close()
			_, err = io.Copy(w, staged)
			return err
		})
		if err == nil {
			err = d.disk.rename(copied, d.join(f.Name))
		}
		if err != nil {
			return errors.Wrapf(err, "%s beside the checkpoints", f.Name)
		}
	}
	return nil
}

// checkLater returns an error if there is a checkpoint of a later step, because Load would return that one. Checkpoints
// that Load has skipped do not count.
func (d *Dir) checkLater(step int) error {
	names, err := d.disk.list(d.path)
	if err != nil {
		return err
	}
	for _, name := range newestFirst(names) {
		if n, _ := stepOf(name); n > step && !d.refused[name] {
			return errors.Errorf("%s is of a later step, and is not removed", name)
		}
	}
	return nil
}

// prune removes the checkpoints of earlier steps except the newest ones, damaged ones first. Later ones stay, because
// the caller has not read them.
func (d *Dir) prune(step int) error {
	names, err := d.disk.list(d.path)
	if err != nil {
		return err
	}
	var drop []string
	earlier := 0
	for _, name := range newestFirst(names) {
		n, _ := stepOf(name)
		switch {
		case name == stepName(step), n > step:
		case n < step && earlier < max(1, d.Keep) && !d.refused[name]:
			earlier++
		default:
			drop = append(drop, name)
		}
	}
	return d.remove(drop...)
}

// remove removes checkpoints. They are renamed, and the rename is flushed, before their files are removed, so that a
// checkpoint's name never belongs to half a checkpoint.
func (d *Dir) remove(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if err := d.disk.rename(d.join(name), d.temporary(trashPrefix, name)); err != nil {
			return err
		}
	}
	if err := d.disk.syncDir(d.path); err != nil {
		return err
	}
	for _, name := range names {
		if err := d.disk.removeAll(d.temporary(trashPrefix, name)); err != nil {
			return err
		}
	}
	return nil
}

// temporary returns the path of an unfinished or partly removed directory.
func (d *Dir) temporary(prefix, name string) string { return d.join(prefix + d.mark + "-" + name) }

// sweep removes unfinished and partly removed directories that have the mark.
func (d *Dir) sweep() error {
	names, err := d.disk.list(d.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, tmpPrefix+d.mark+"-") || strings.HasPrefix(name, trashPrefix+d.mark+"-") {
			if err := d.disk.removeAll(d.join(name)); err != nil {
				return err
			}
		}
	}
	return nil
}
