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

// matrix returns the name of the matrix to which a tensor belongs, and the index of the rank in the tensor's shape.
func (c Config) matrix(tensor string) (name string, at int, known bool) {
	name, known = strings.CutPrefix(tensor, prefix)
	if cut, ok := strings.CutSuffix(name, up); ok {
		return cut, 1, known
	}
	name, ok := strings.CutSuffix(name, down)
	return name, 0, known && ok
}

// add adds the shape of one tensor to the list.
func (f *Folder) add(e safetensors.Entry) error {
	name, at, known := f.matrix(e.Name)
	switch {
	case !known:
		return errors.Errorf("%s: want names such as %sname%s and %s", field.Clip(e.Name), prefix, down, up)
	case f.Listed && !f.Adapts(name):
		return errors.Errorf("%s: not in target_modules %s",
			field.Clip(e.Name), field.Clip(strings.Join(f.Targets, ",")))
	case len(e.Shape) != 2 || e.Shape[at] != f.RankOf(name) || e.Len() == 0:
		return errors.Errorf("%s: got shape %v, want a matrix of floating-point numbers with r %d of %s",
			field.Clip(e.Name), e.Shape, f.RankOf(name), []string{"rows", "columns"}[at])
	}
	i := slices.IndexFunc(f.Shapes, func(s Shape) bool { return s.Name == name })
	if i < 0 {
		i, f.Shapes = len(f.Shapes), append(f.Shapes, Shape{Name: name})
	}
	if at == 0 {
		f.Shapes[i].In = e.Shape[1]
	} else {
		f.Shapes[i].Out = e.Shape[0]
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
