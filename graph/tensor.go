package graph

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// Dtype is a type of numbers.
type Dtype = tensor.Dtype

// Float32 and Float64 are the types that a Graph can compute in.
var (
	Float32 = tensor.Float32
	Float64 = tensor.Float64
)

// Tensor is a view of numbers in row-major order. Exactly one of F32 and F64 is set, and writing to it changes the
// numbers of the graph.
type Tensor struct {
	Shape []int
	F32   []float32
	F64   []float64
}

// Len returns the number of entries.
func (t Tensor) Len() int { return len(t.F32) + len(t.F64) }

// At returns entry i in row-major order, NaN if there is no such entry.
func (t Tensor) At(i int) float64 {
	switch {
	case uint(i) < uint(len(t.F32)):
		return float64(t.F32[i])
	case uint(i) < uint(len(t.F64)):
		return t.F64[i]
	}
	return math.NaN()
}

// Row returns a view of row i of a matrix (n, d), a vector of d entries. It is empty if there is no such row.
func (t Tensor) Row(i int) Tensor {
	if len(t.Shape) != 2 || i < 0 || i >= t.Shape[0] || t.Len() != t.Shape[0]*t.Shape[1] {
		return Tensor{}
	}
	d := t.Shape[1]
	r := Tensor{Shape: t.Shape[1:]}
	if t.F32 != nil {
		r.F32 = t.F32[i*d : (i+1)*d]
	} else {
		r.F64 = t.F64[i*d : (i+1)*d]
	}
	return r
}

// Floats returns a copy of the entries as float64.
func (t Tensor) Floats() []float64 {
	out := make([]float64, t.Len())
	for i := range out {
		out[i] = t.At(i)
	}
	return out
}

// Clone returns a copy that shares no memory with t.
func (t Tensor) Clone() Tensor {
	return Tensor{slices.Clone(t.Shape), slices.Clone(t.F32), slices.Clone(t.F64)}
}

// ErrNotFinite is the error for a tensor that holds NaN or ±∞; the message names the tensor.
var ErrNotFinite = errors.New("not finite")

// Finite returns an ErrNotFinite that names the tensor and the entry if t holds NaN or ±∞.
func (t Tensor) Finite(name string) error {
	for i := range t.Len() {
		if x := t.At(i); math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.Wrapf(ErrNotFinite, "%s: entry %d is %v", name, i, x)
		}
	}
	return nil
}

// view returns a Tensor that shares the numbers of a dense tensor.
func view(d *tensor.Dense) Tensor {
	n := ops.NumbersOf(d)
	return Tensor{Shape: d.Shape(), F32: n.F32, F64: n.F64}
}

func newDense(dtype tensor.Dtype, shape ...int) *tensor.Dense {
	size := tensor.Shape(shape).TotalSize()
	if dtype == Float32 {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(kernel.Make[float32](size)))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(kernel.Make[float64](size)))
}

// Set changes entry i in row-major order. It returns an error if there is no such entry.
func (t Tensor) Set(i int, x float64) error {
	switch {
	case uint(i) < uint(len(t.F32)):
		t.F32[i] = float32(x)
	case uint(i) < uint(len(t.F64)):
		t.F64[i] = x
	default:
		return t.noEntry(i)
	}
	return nil
}

func (t Tensor) noEntry(i int) error {
	return errors.Errorf("entry %d of a tensor of %d", i, t.Len())
}

// Fill overwrites all entries with x. If the number of entries differs, it returns an error and writes nothing; an
// expression that is neither a parameter nor an input has 0 entries.
func (t Tensor) Fill(x ...float64) error { return t.Copy(Tensor{F64: x}) }

// Copy overwrites all entries with the entries of from, of either type. If the number of entries differs, it returns an
// error and writes nothing; the shapes may differ.
func (t Tensor) Copy(from Tensor) error {
	if got, want := from.Len(), t.Len(); got != want {
		return errors.Errorf("%d numbers for a tensor %v of %d", got, tensor.Shape(t.Shape), want)
	}
	if copied := copy(t.F32, from.F32) + copy(t.F64, from.F64); copied == t.Len() {
		return nil
	}
	for i := range t.F32 { // the types differ
		t.F32[i] = float32(from.At(i))
	}
	for i := range t.F64 {
		t.F64[i] = from.At(i)
	}
	return nil
}

// entries returns the product of the sizes, as a float64 so that it cannot overflow.
func entries(shape []int) float64 {
	n := 1.0
	for _, size := range shape {
		n *= float64(size)
	}
	return n
}

// fits reports whether a tensor may have the given number of entries: the bytes of many such tensors still fit an int.
func fits(entries float64) bool { return entries <= min(1<<40, math.MaxInt/8) }
