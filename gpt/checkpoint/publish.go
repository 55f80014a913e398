package checkpoint

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// publish gives a staged checkpoint its name. Directories cannot be replaced in one step, so one of the same name is
// renamed first, to a backup that Load still finds.
func (d *Dir) publish(tmp, name string) error {
	names, err := d.disk.list(d.path)
	if err != nil {
		return err
	}
	backup := ""
	if slices.Contains(names, name) {
		backup = name + backupSuffix
		if slices.Contains(names, backup) { // an earlier Save ended between the two
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
			d.disk.rename(d.join(backup), d.join(name)) // else Load finds the backup
		}
		return err
	}
	return d.disk.syncDir(d.path)
}

// checkLater refuses a step before one that is there: Load would return that one. Those that Load has passed over do
// not count.
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

// prune removes the checkpoints of earlier steps but the newest, those that are damaged first. Later ones stay: whoever
// saves at step has not read them.
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
		case n < step && earlier == 0 && !d.refused[name]:
			earlier++
		default:
			drop = append(drop, name)
		}
	}
	return d.remove(drop...)
}

// remove removes checkpoints. They lose their names for good before they lose their files, so that a name never stands
// for half a checkpoint.
func (d *Dir) remove(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if err := d.disk.rename(d.join(name), d.made(trashPrefix, name)); err != nil {
			return err
		}
	}
	if err := d.disk.syncDir(d.path); err != nil {
		return err
	}
	for _, name := range names {
		if err := d.disk.removeAll(d.made(trashPrefix, name)); err != nil {
			return err
		}
	}
	return nil
}

// made returns the path of what is unfinished or half removed.
func (d *Dir) made(prefix, name string) string { return d.join(prefix + d.mark + "-" + name) }

// sweep removes what is unfinished or half removed and has the mark.
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
