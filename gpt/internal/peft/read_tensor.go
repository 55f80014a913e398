package peft

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// matrix returns the name of the matrix to which a tensor belongs, and the ending of the tensor's name, which is empty
// if it is no tensor of an adapter.
func (c Config) matrix(tensor string) (name, ending string) {
	name, known := strings.CutPrefix(tensor, prefix)
	for _, ending := range []string{down, up, lengths} {
		if cut, ok := strings.CutSuffix(name, ending); ok && known {
			return cut, ending
		}
	}
	return name, ""
}

// saves reports whether a tensor of the base, or a module that contains it, is one of modules_to_save.
func (c Config) saves(tensor string) bool {
	for i, r := range tensor {
		if r == '.' && (Config{Targets: c.Saved}).Adapts(tensor[:i]) {
			return true
		}
	}
	return false
}

// add adds the shape of one tensor to the list.
func (f *Folder) add(e safetensors.Entry) error {
	name, ending := f.matrix(e.Name)
	at := slices.Index([]string{down, up}, ending) // the index of the rank in the tensor's shape
	switch {
	case ending == "" && f.saves(name) && strings.HasPrefix(e.Name, prefix):
		e.Name = name
		f.saved = append(f.saved, e)
		return nil
	case ending == "", ending == lengths && !f.DoRA:
		return errors.Errorf("%s: want names such as %sname%s and %s", field.Clip(e.Name), prefix, down, up)
	case f.Listed && !f.Adapts(name):
		return errors.Errorf("%s: not in target_modules %s",
			field.Clip(e.Name), field.Clip(strings.Join(f.Targets, ",")))
	case ending == lengths && (len(e.Shape) != 1 || e.Len() == 0):
		return errors.Errorf("%s: got shape %v, want a length for every row", field.Clip(e.Name), e.Shape)
	case ending != lengths && (len(e.Shape) != 2 || e.Shape[at] != f.RankOf(name) || e.Len() == 0):
		return errors.Errorf("%s: got shape %v, want a matrix of floating-point numbers with r %d of %s",
			field.Clip(e.Name), e.Shape, f.RankOf(name), []string{"rows", "columns"}[at])
	}
	i := slices.IndexFunc(f.Shapes, func(s Shape) bool { return s.Name == name })
	if i < 0 {
		i, f.Shapes = len(f.Shapes), append(f.Shapes, Shape{Name: name})
	}
	switch ending {
	case down:
		f.Shapes[i].In = e.Shape[1]
	case up:
		f.Shapes[i].Out = e.Shape[0]
	default:
		f.Shapes[i].lengths = e.Shape[0]
	}
	return nil
}

// listTargets sets the targets to the endings of the matrices in the file, which all blocks share, if the settings do
// not list them.
func (f *Folder) listTargets() {
	for _, s := range f.Shapes {
		words := strings.Split(s.Name, ".")
		for i, w := range words {
			if _, err := strconv.Atoi(w); err == nil { // the number of a block
				words = words[i+1:]
				break
			}
		}
		if ending := strings.Join(words, "."); !f.Listed && !slices.Contains(f.Targets, ending) {
			f.Targets = append(f.Targets, ending)
		}
	}
}

// read returns the numbers of a tensor.
func (f *Folder) read(e safetensors.Entry) ([]float32, error) {
	values := make([]float32, 0, e.Len())
	err := f.file.Values(e, func(_ int, part safetensors.Tensor) error {
		for _, x := range part.F64 {
			values = append(values, float32(x))
		}
		values = append(values, part.F32...)
		return nil
	})
	if err == nil {
		err = graph.Tensor{F32: values}.Finite(field.Clip(e.Name))
	}
	return values, err
}

// Adapts reports whether a matrix is one of target_modules, that is, whether a target equals its name or its ending
// after a dot.
func (c Config) Adapts(name string) bool {
	return slices.ContainsFunc(c.Targets, func(t string) bool { return name == t || strings.HasSuffix(name, "."+t) })
}
