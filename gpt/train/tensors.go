package train

import (
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Named is a tensor and its name in a file.
type Named struct {
	Name string
	graph.Tensor
}

// Parameters are their tensors, under their own names.
func Parameters(params []graph.Expr) []Named {
	list := make([]Named, len(params))
	for i, p := range params {
		list[i] = Named{p.Name(), p.Tensor()}
	}
	return list
}

// WriteTensors writes a safetensors file. Numbers that are not finite are refused.
func WriteTensors(w io.Writer, tensors []Named, metadata map[string]string) error {
	list := make([]safetensors.Tensor, len(tensors))
	for i, t := range tensors {
		if err := t.Finite(t.Name); err != nil {
			return err
		}
		list[i] = safetensors.Tensor{Name: t.Name, Shape: t.Shape, F32: t.F32, F64: t.F64}
	}
	return safetensors.Write(w, list, metadata)
}

// ReadTensors is what a safetensors file holds.
func ReadTensors(data []byte) ([]Named, error) {
	list, _, err := safetensors.Read(data)
	tensors := make([]Named, len(list))
	for i, f := range list {
		tensors[i] = Named{f.Name, graph.Tensor{Shape: f.Shape, F32: f.F32, F64: f.F64}}
	}
	return tensors, err
}

// Restore overwrites tensors by those found under their names. A tensor that is missing or superfluous, another shape,
// and a number that is not finite are errors, and then nothing has changed.
func Restore(tensors, found []Named) error {
	byName := map[string]graph.Tensor{}
	for _, f := range found {
		if _, twice := byName[f.Name]; twice {
			return errors.Errorf("the file has %s twice", f.Name)
		}
		byName[f.Name] = f.Tensor
	}
	from := make([]graph.Tensor, len(tensors))
	for i, to := range tensors {
		t, ok := byName[to.Name]
		switch {
		case !ok:
			return errors.Errorf("%s is missing", to.Name)
		case !slices.Equal(t.Shape, to.Shape):
			return errors.Errorf("%s has shape %v in the file, %v in the model", to.Name, t.Shape, to.Shape)
		case t.Len() != to.Len():
			return errors.Errorf("%s holds %d floating-point numbers, want %d", to.Name, t.Len(), to.Len())
		}
		from[i] = converted(t, to.Tensor)
		if err := from[i].Finite(to.Name); err != nil {
			return err
		}
		delete(byName, to.Name)
	}
	for name := range byName {
		return errors.Errorf("the file has %s, the model does not", name)
	}
	for i, to := range tensors {
		copy(to.F32, from[i].F32)
		copy(to.F64, from[i].F64)
	}
	return nil
}

// converted is t in the type of like; a float64 beyond the range of float32 becomes ±∞ there.
func converted(t, like graph.Tensor) graph.Tensor {
	if (t.F32 != nil) == (like.F32 != nil) {
		return t
	}
	u := like.Clone()
	for i := range u.Len() {
		u.Set(i, t.At(i))
	}
	return u
}
