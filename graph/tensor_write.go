package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

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

// Copy overwrites all entries with those of from, of either type. If the number of entries differs, it returns an error
// and writes nothing; the shapes may differ.
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
