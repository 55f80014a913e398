package train

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pkg/errors"
)

// Restore overwrites tensors with a file's under their names, piece by piece, in almost no memory. A missing or
// superfluous tensor, a different shape, and a number that is not finite are errors, after which nothing has changed:
// the file is read twice.
func Restore(tensors []Named, f *safetensors.File) error {
	if err := each(tensors, f, Parts.finite); err != nil {
		return err
	}
	return Fill(tensors, f)
}

// Fill is Restore for tensors that are discarded after an error: the file is read only once.
func Fill(tensors []Named, f *safetensors.File) error {
	return each(tensors, f, func(parts Parts, at int, part safetensors.Tensor) error {
		if err := parts.finite(at, part); err != nil {
			return err
		}
		for _, t := range parts {
			t.put(at, part)
		}
		return nil
	})
}

// each passes the numbers of every tensor of the file to visit once, some thousands at a time, with their index in the
// tensor and all parts of it.
func each(
	tensors []Named, f *safetensors.File, visit func(parts Parts, at int, part safetensors.Tensor) error,
) error {
	if f == nil {
		return errors.New("restore: the file is nil")
	}
	from, err := Match(tensors, f.Entries)
	if err != nil {
		return err
	}
	entries := map[string]safetensors.Entry{}
	for i, t := range tensors {
		entries[t.Name] = from[i]
	}
	for _, parts := range InFile(tensors) {
		err := f.Values(entries[parts[0].Name], func(at int, part safetensors.Tensor) error {
			return visit(parts, at, part)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Match returns every tensor's entry. It returns an error unless all entries have the required shapes and none is left
// over. A vector may be a row in the file, as some were in earlier versions.
func Match(tensors []Named, entries []safetensors.Entry) ([]safetensors.Entry, error) {
	byName := map[string]safetensors.Entry{}
	for _, e := range entries {
		if _, twice := byName[e.Name]; twice {
			return nil, errors.Errorf("the file has %s twice", field.Clip(e.Name))
		}
		byName[e.Name] = e
	}
	from, found := make([]safetensors.Entry, len(tensors)), map[string]bool{}
	for i, t := range tensors {
		if err := t.check(); err != nil {
			return nil, err
		}
		e, ok := byName[t.Name]
		shape := t.shape()
		switch n := size(shape); {
		case !ok:
			return nil, lacking(tensors[i:], byName)
		case !slices.Equal(e.Shape, shape) && !(len(shape) == 1 && slices.Equal(e.Shape, []int{1, shape[0]})):
			return nil, errors.Errorf("%s has shape %v in the file, %v in the model", t.Name, e.Shape, shape)
		case e.Len() != n:
			return nil, errors.Errorf("%s holds %d floating-point numbers, want %d", t.Name, e.Len(), n)
		}
		from[i], found[t.Name] = e, true
	}
	for i, e := range entries {
		if found[e.Name] {
			continue
		}
		more := 0
		for _, e := range entries[i+1:] {
			if !found[e.Name] {
				more++
			}
		}
		return nil, errors.Errorf("the file has %s%s, the model does not", field.Clip(e.Name), andMore(more))
	}
	return from, nil
}

// lacking returns the error of the first of some tensors, which the file lacks, and counts the others that it lacks.
func lacking(tensors []Named, file map[string]safetensors.Entry) error {
	more := 0
	for _, t := range tensors[1:] {
		if _, ok := file[t.Name]; !ok {
			more++
		}
	}
	return errors.Errorf("%s is missing%s", tensors[0].Name, andMore(more))
}

// andMore returns the words for further tensors, if there are any.
func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}
