package train

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// OpenTensors reads the header of a safetensors file of a checkpoint.
func OpenTensors(cp *checkpoint.Checkpoint, name string) (*safetensors.File, error) {
	r, err := cp.Open(name)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Open(r, r.Size())
	return f, errors.Wrap(err, name)
}

// Restore overwrites tensors by those of a file under their names, piece by piece: it needs no memory to speak of. A
// tensor that is missing or superfluous, another shape, and a number that is not finite are errors, and then nothing
// has changed: the file is read twice.
func Restore(tensors []Named, f *safetensors.File) error {
	if f == nil {
		return errors.New("restore: the file is nil")
	}
	from, err := match(tensors, f.Entries)
	if err != nil {
		return err
	}
	for _, write := range []bool{false, true} {
		for i, to := range tensors {
			err := f.Values(from[i], func(at int, part safetensors.Tensor) error { return to.put(at, part, write) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// match finds every tensor's entry.
func match(tensors []Named, entries []safetensors.Entry) ([]safetensors.Entry, error) {
	byName := map[string]safetensors.Entry{}
	for _, e := range entries {
		if _, twice := byName[e.Name]; twice {
			return nil, errors.Errorf("the file has %s twice", field.Clip(e.Name))
		}
		byName[e.Name] = e
	}
	from := make([]safetensors.Entry, len(tensors))
	for i, to := range tensors {
		e, ok := byName[to.Name]
		shape := slices.Clone(to.Shape)
		if to.Turned {
			slices.Reverse(shape)
		}
		switch {
		case !ok:
			return nil, errors.Errorf("%s is missing", to.Name)
		case !slices.Equal(e.Shape, shape):
			return nil, errors.Errorf("%s has shape %v in the file, %v in the model", to.Name, e.Shape, shape)
		case e.Len() != to.Len():
			return nil, errors.Errorf("%s holds %d floating-point numbers, want %d", to.Name, e.Len(), to.Len())
		}
		from[i] = e
		delete(byName, to.Name)
	}
	for name := range byName {
		return nil, errors.Errorf("the file has %s, the model does not", field.Clip(name))
	}
	return from, nil
}

// put writes the part of a file that begins at entry at, or only looks at it. A float64 beyond the range of float32
// becomes ±∞ there.
func (t Named) put(at int, part safetensors.Tensor, write bool) error {
	whole := graph.Tensor{F32: part.F32, F64: part.F64}
	for i := range whole.Len() {
		x, to := whole.At(i), at+i
		if t.Turned {
			rows, cols := t.Shape[0], t.Shape[1]
			to = to%rows*cols + to/rows
		}
		if write {
			t.Set(to, x)
			continue
		}
		if t.F32 != nil {
			x = float64(float32(x))
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.Wrapf(graph.ErrNotFinite, "%s: entry %d is %v", t.Name, to, x)
		}
	}
	return nil
}
