package peft

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// add reads one tensor into the list.
func (c Config) add(list []Matrix, f *safetensors.File, e safetensors.Entry) ([]Matrix, error) {
	name, known := strings.CutPrefix(e.Name, prefix)
	at := 0 // of the rank in the shape
	if cut, ok := strings.CutSuffix(name, up); ok {
		name, at = cut, 1
	} else if name, ok = strings.CutSuffix(name, down); !ok {
		known = false
	}
	switch {
	case !known:
		return nil, errors.Errorf("%s: want names such as %sname%s and %s", field.Clip(e.Name), prefix, down, up)
	case !c.Adapts(name):
		return nil, errors.Errorf("%s: target_modules are %s", field.Clip(e.Name), field.Clip(strings.Join(c.Targets, ",")))
	case len(e.Shape) != 2 || e.Shape[at] != c.Rank || e.Len() == 0:
		return nil, errors.Errorf("%s: got shape %v, want a matrix of floating-point numbers with r %d of %s",
			field.Clip(e.Name), e.Shape, c.Rank, []string{"rows", "columns"}[at])
	}
	values := make([]float32, 0, e.Len())
	err := f.Values(e, func(_ int, part safetensors.Tensor) error {
		for _, x := range part.F64 {
			values = append(values, float32(x))
		}
		values = append(values, part.F32...)
		return nil
	})
	if err == nil {
		err = graph.Tensor{F32: values}.Finite(field.Clip(e.Name))
	}
	i := slices.IndexFunc(list, func(m Matrix) bool { return m.Name == name })
	if i < 0 {
		i, list = len(list), append(list, Matrix{Name: name})
	}
	if at == 0 {
		list[i].A = values
	} else {
		list[i].B = values
	}
	return list, err
}

// Adapts says whether a matrix is one of target_modules: whether its name ends, at a dot, in one.
func (c Config) Adapts(name string) bool {
	return slices.ContainsFunc(c.Targets, func(t string) bool { return name == t || strings.HasSuffix(name, "."+t) })
}
