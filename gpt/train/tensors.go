package train

import (
	"io"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Named is a tensor with the name and the layout of its tensor in a file. Several tensors of a file may each fill a
// part of it.
type Named struct {
	Name string
	graph.Tensor
	Turned  bool    // whether the matrix is transposed in the file
	Columns []int   // columns that the file's tensor holds, in its order; nil means all
	Rows    int     // number of rows in the file; 0 means as many as are used
	From    int     // first of the rows in the file that are used; those before it may belong to other tensors
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

// shape returns the shape of the file's tensor.
func (t Named) shape() []int {
	shape := slices.Clone(t.Shape)
	if t.Columns != nil {
		shape[len(shape)-1] = len(t.Columns)
	}
	if t.Turned {
		slices.Reverse(shape)
	}
	if t.Rows > 0 && len(shape) > 0 {
		shape[0] = t.Rows
	}
	return shape
}

// before returns the number of entries of the file's tensor in the rows before From.
func (t Named) before() int {
	n, shape := t.From, t.shape()
	for _, size := range shape[min(1, len(shape)):] {
		n *= size
	}
	return n
}

// straight reports whether the numbers have the same order in the file and here.
func (t Named) straight() bool { return !t.Turned && t.Columns == nil && t.Shift == 0 }

// place returns the index here of entry i of the file's tensor.
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

// InFile returns the tensors of a file: those that follow one another with the same name are parts of one.
func InFile(tensors []Named) (list []Parts) {
	for _, t := range tensors {
		if i := len(list) - 1; i >= 0 && list[i][0].Name == t.Name && t.From > 0 {
			list[i] = append(list[i], t)
		} else {
			list = append(list, Parts{t})
		}
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

// joined returns the tensor of the file. Rows of no part are 0.
func (parts Parts) joined(dtype string) (file safetensors.Tensor, err error) {
	switch {
	case len(parts) == 0:
		return file, nil
	case parts[0].Rows == 0:
		return parts[0].filed(dtype)
	}
	n := 1
	for _, size := range parts[0].shape() {
		n *= size
	}
	if dtype == safetensors.F64 {
		file.F64 = make([]float64, n)
	} else {
		file.F32 = make([]float32, n)
	}
	for _, t := range parts {
		at := t.before()
		t.Rows = 0
		part, err := t.filed(dtype)
		if err != nil {
			return file, err
		}
		copy(file.F32[min(at, len(file.F32)):], part.F32)
		copy(file.F64[min(at, len(file.F64)):], part.F64)
	}
	return file, nil
}

func (t Named) dtype() string {
	if t.F64 != nil {
		return safetensors.F64
	}
	return safetensors.F32
}

// filed returns the tensor of the file, whose numbers are float64 if dtype is F64, otherwise float32.
func (t Named) filed(dtype string) (file safetensors.Tensor, err error) {
	if t.complete != nil {
		if t.Tensor, err = t.complete(); err != nil {
			return file, err
		}
	}
	if t.straight() && (dtype == safetensors.F64) == (t.F64 != nil) {
		return safetensors.Tensor{F32: t.F32, F64: t.F64}, nil
	}
	if len(t.Shape) == 0 && !t.straight() {
		return file, errors.Errorf("%s: got no shape, want one of a tensor to rearrange or shift", t.Name)
	}
	n := 1
	for _, size := range t.shape() {
		n *= size
	}
	if dtype == safetensors.F64 {
		file.F64 = make([]float64, n)
		for i := range n {
			file.F64[i] = t.At(t.place(i)) - t.Shift
		}
		return file, nil
	}
	file.F32 = make([]float32, n)
	for i := range n {
		file.F32[i] = float32(t.At(t.place(i)) - t.Shift)
	}
	return file, t.finite(0, file) // a float64 may overflow float32
}

// finite returns an error if a part of the file's tensor, which begins at entry at, holds a number that is not finite
// in the tensor's type: a float64 beyond the range of float32 becomes ±∞ there.
func (t Named) finite(at int, part safetensors.Tensor) error {
	for i, x := range part.F32 {
		if math.Float32bits(x)>>23&255 == 255 {
			return t.notFinite(at+i, float64(x))
		}
	}
	for i, x := range part.F64 {
		if t.F32 != nil {
			x = float64(float32(x))
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return t.notFinite(at+i, x)
		}
	}
	return nil
}

func (t Named) notFinite(at int, x float64) error {
	return errors.Wrapf(graph.ErrNotFinite, "%s: entry %d is %v", t.Name, t.place(at), x)
}
