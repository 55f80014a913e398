package field

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// List holds the fields of a configuration in the order of its JSON.
type List []Field

// Check returns the error of the first field that is outside its domain.
func (l List) Check() error {
	for _, f := range l {
		if err := f.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Names lists the fields' names.
func (l List) Names() []string {
	names := make([]string, len(l))
	for i, f := range l {
		names[i] = f.Name
	}
	return names
}

// Find returns the field of that name.
func (l List) Find(name string) (f Field, ok bool) {
	i := slices.IndexFunc(l, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return l[i], true
}

// Topic returns the fields under a topic of a program's help, except those that have one already.
func (l List) Topic(topic string) List {
	list := slices.Clone(l)
	for i := range list {
		list[i].topic = cmp.Or(list[i].topic, topic)
	}
	return list
}

// Fixed returns the fields that must be the same when a run is resumed.
func (l List) Fixed() List {
	return slices.DeleteFunc(slices.Clone(l), func(f Field) bool { return f.free })
}

// Lines returns the fields with their values, such as "n_layer 4".
func (l List) Lines() []string {
	list := make([]string, len(l))
	for i, f := range l {
		list[i] = f.Name + " " + f.String()
	}
	return list
}

// Without returns the fields except those with the given names.
func (l List) Without(names ...string) List {
	return slices.DeleteFunc(slices.Clone(l), func(f Field) bool { return slices.Contains(names, f.Name) })
}

// Diff returns an error, prefixed by what, that names every field of l whose value differs in saved, which has the same
// fields. A field that saved lacks is compared with "".
func (l List) Diff(what string, saved List) error {
	var diffs []string
	for _, f := range l {
		if was, _ := saved.Find(f.Name); f.String() != was.String() {
			diffs = append(diffs, f.Name+": got "+Clip(f.String())+", want "+Clip(was.String())+" as saved")
		}
	}
	if diffs == nil {
		return nil
	}
	return errors.New(what + ": " + strings.Join(diffs, "; "))
}
