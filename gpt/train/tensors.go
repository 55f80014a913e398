package train

import (
	"io"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Named is a tensor with the name of its tensor in a file, and its place there. Several tensors may lie in one of a
// file, and one tensor in several of a file.
type Named struct {
	Name string
	graph.Tensor
	View    View    // where its numbers lie in the file's tensor
	Columns []int   // columns that the file's tensor holds, in its order; nil means all
	Shift   float64 // number that is subtracted in the file

	first    int                          // index in the file's tensor at which this part of it begins
	complete func() (graph.Tensor, error) // returns the complete tensor; nil if this is it
}

// Parameters returns the tensors of params, under their own names.
func Parameters(params []graph.Expr) []Named {
	list := make([]Named, len(params))
	for i, p := range params {
		list[i] = Named{Name: p.Name(), Tensor: p.Tensor()}
	}
	return list
}

// WriteTensors writes a safetensors file with numbers of the type dtype; "" means each tensor's own type. Numbers that
// are not finite are an error.
func WriteTensors(w io.Writer, tensors []Named, metadata map[string]string, dtype string) error {
	if w == nil {
		return errors.New("nothing to write to: the writer is nil")
	}
	var entries []safetensors.Entry
	list := InFile(tensors)
	for _, parts := range list {
		if err := parts.Finite(); err != nil {
			return err
		}
		e := safetensors.Entry{Name: parts[0].Name, Shape: parts.Shape(), DType: dtype}
		if dtype == "" {
			e.DType = parts[0].dtype()
		}
		entries = append(entries, e)
	}
	return safetensors.WriteEach(w, entries, metadata, func(i int) (safetensors.Tensor, error) {
		return list[i].joined(entries[i].DType)
	})
}

// Parts are the tensors that a tensor of a file consists of.
type Parts []Named

// InFile returns the tensors of a file, in the order of their first parts: those with the same name that have a View
// are parts of one.
func InFile(tensors []Named) (list []Parts) {
	at := map[string]int{}
	for _, t := range tensors {
		if i, ok := at[t.Name]; ok && t.View.Shape != nil {
			list[i] = append(list[i], t)
			continue
		}
		at[t.Name] = len(list)
		list = append(list, Parts{t})
	}
	return list
}

// Shape returns the shape of the file's tensor.
func (parts Parts) Shape() []int {
	if len(parts) == 0 {
		return nil
	}
	return parts[0].shape()
}

// Finite returns an error that names a number that is not finite.
func (parts Parts) Finite() error {
	for _, t := range parts {
		if err := t.Finite(t.Name); err != nil {
			return err
		}
	}
	return nil
}

// Numbers returns the numbers of the file's tensor as float32.
func (parts Parts) Numbers() ([]float32, error) {
	file, err := parts.joined(safetensors.F32)
	return file.F32, err
}

// joined returns the tensor of the file, whose numbers are float64 if dtype is F64, otherwise float32. Numbers of no
// part are 0.
func (parts Parts) joined(dtype string) (safetensors.Tensor, error) {
	var file graph.Tensor
	for i, t := range parts {
		if err := t.check(); err != nil {
			return safetensors.Tensor{}, err
		}
		if t.complete != nil {
			var err error
			if t.Tensor, err = t.complete(); err != nil {
				return safetensors.Tensor{}, err
			}
		}
		if t.straight() && t.Shift == 0 && (dtype == safetensors.F64) == (t.F64 != nil) {
			return safetensors.Tensor{F32: t.F32, F64: t.F64}, nil
		}
		if n := size(t.shape()); i == 0 && dtype == safetensors.F64 {
			file.F64 = make([]float64, n)
		} else if i == 0 {
			file.F32 = make([]float32, n)
		}
		t.lay(file)
	}
	joined := safetensors.Tensor{F32: file.F32, F64: file.F64}
	return joined, parts.finite(0, joined) // a float64 may overflow float32
}

func (t Named) dtype() string {
	if t.F64 != nil {
		return safetensors.F64
	}
	return safetensors.F32
}

// finite returns an error if a part of the file's tensor, which begins at entry at, holds a number that is not finite
// in the tensors' type: a float64 beyond the range of float32 becomes ±∞ there.
func (parts Parts) finite(at int, part safetensors.Tensor) error {
	for i, x := range part.F32 {
		if math.Float32bits(x)>>23&255 == 255 {
			return parts.notFinite(at+i, float64(x))
		}
	}
	narrow := slices.ContainsFunc(parts, func(t Named) bool { return t.F32 != nil })
	for i, x := range part.F64 {
		if narrow {
			x = float64(float32(x))
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return parts.notFinite(at+i, x)
		}
	}
	return nil
}

func (parts Parts) notFinite(at int, x float64) error {
	return errors.Wrapf(graph.ErrNotFinite, "%s: entry %d is %v", parts[0].Name, at, x)
}
