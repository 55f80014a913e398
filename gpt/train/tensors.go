package train

import (
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Named is a tensor as it lies in a file: under that name, and perhaps in another order. The file's tensor may also be
// a part of it: then several fill it.
type Named struct {
	Name string
	graph.Tensor
	Turned  bool  // a matrix whose columns are the rows of the one in the file
	Columns []int // those that the file's tensor holds, in its order; nil is all
	Rows    int   // of the file's, the first of which are these; 0 is as many

	first int                          // where in the file's tensor these numbers begin, which are a part of it
	whole func() (graph.Tensor, error) // has all of it; nil is this one
}

// Parameters returns their tensors, under their own names.
func Parameters(params []graph.Expr) []Named {
	list := make([]Named, len(params))
	for i, p := range params {
		list[i] = Named{Name: p.Name(), Tensor: p.Tensor()}
	}
	return list
}

// shape returns the file's.
func (t Named) shape() []int {
	shape := slices.Clone(t.Shape)
	if t.Columns != nil {
		shape[len(shape)-1] = len(t.Columns)
	}
	if t.Rows > 0 {
		shape[0] = t.Rows
	}
	if t.Turned {
		slices.Reverse(shape)
	}
	return shape
}

// straight reports whether the numbers lie in the file as they lie here.
func (t Named) straight() bool { return !t.Turned && t.Columns == nil }

// place is where entry i of the file's tensor lies here.
func (t Named) place(i int) int {
	if t.straight() {
		return i
	}
	width := t.Shape[len(t.Shape)-1]
	columns := width
	if t.Columns != nil {
		columns = len(t.Columns)
	}
	row, column := i/columns, i%columns
	if t.Turned {
		rows := t.Shape[0]
		row, column = i%rows, i/rows
	}
	if t.Columns != nil {
		column = t.Columns[column]
	}
	return row*width + column
}

// WriteTensors writes a safetensors file, in numbers of that type of its package; "" is each tensor's own. Numbers that
// are not finite are refused.
func WriteTensors(w io.Writer, tensors []Named, metadata map[string]string, dtype string) error {
	if w == nil {
		return errors.New("nothing to write to: the writer is nil")
	}
	entries := make([]safetensors.Entry, len(tensors))
	for i, t := range tensors {
		if err := t.Finite(t.Name); err != nil {
			return err
		}
		entries[i] = safetensors.Entry{Name: t.Name, Shape: t.shape(), DType: dtype}
		if dtype == "" {
			entries[i].DType = t.dtype()
		}
	}
	return safetensors.WriteEach(w, entries, metadata, func(i int) (safetensors.Tensor, error) {
		return tensors[i].filed(entries[i].DType)
	})
}

func (t Named) dtype() string {
	if t.F64 != nil {
		return safetensors.F64
	}
	return safetensors.F32
}

// filed returns the tensor of the file, whose numbers are float64 if dtype is F64, else float32.
func (t Named) filed(dtype string) (file safetensors.Tensor, err error) {
	if t.whole != nil {
		if t.Tensor, err = t.whole(); err != nil {
			return file, err
		}
	}
	if t.straight() && (dtype == safetensors.F64) == (t.F64 != nil) {
		return safetensors.Tensor{F32: t.F32, F64: t.F64}, nil
	}
	n := 1
	for _, size := range t.shape() {
		n *= size
	}
	if dtype == safetensors.F64 {
		file.F64 = make([]float64, n)
		for i := range n {
			file.F64[i] = t.At(t.place(i))
		}
		return file, nil
	}
	file.F32 = make([]float32, n)
	for i := range n {
		file.F32[i] = float32(t.At(t.place(i)))
	}
	return file, t.finite(0, file) // a float64 may be beyond float32
}
