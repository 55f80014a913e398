package checkpoint

import (
	"slices"
	"strings"
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

// prune removes every checkpoint but that of step and the newest before it.
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
		case name == stepName(step):
		case n < step && earlier == 0:
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
		if err := d.disk.rename(d.join(name), d.join(trashPrefix+name)); err != nil {
			return err
		}
	}
	if err := d.disk.syncDir(d.path); err != nil {
		return err
	}
	for _, name := range names {
		if err := d.disk.removeAll(d.join(trashPrefix + name)); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes what is unfinished or half removed.
func (d *Dir) sweep() error {
	names, err := d.disk.list(d.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, tmpPrefix) || strings.HasPrefix(name, trashPrefix) {
			if err := d.disk.removeAll(d.join(name)); err != nil {
				return err
			}
		}
	}
	return nil
}
