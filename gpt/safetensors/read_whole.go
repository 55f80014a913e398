package safetensors

import (
	"bytes"

	"github.com/pkg/errors"
)

// Read reads a file in memory like Open, with the values of all tensors.
func Read(data []byte) ([]Tensor, map[string]string, error) {
	n, err := headerSize(data[:min(8, len(data))], int64(len(data)))
	if err != nil {
		return nil, nil, errors.Wrap(err, "safetensors")
	}
	f, err := open(data[8:8+n], bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, nil, err
	}
	tensors := make([]Tensor, len(f.Entries))
	for i, e := range f.Entries {
		t := Tensor{Name: e.Name, Shape: e.Shape}
		switch e.DType {
		case F64:
			t.F64 = make([]float64, e.Len())
		case F32, "F16", BF16:
			t.F32 = make([]float32, e.Len())
		}
		err := f.Values(e, func(at int, part Tensor) error {
			copy(t.F32[min(at, len(t.F32)):], part.F32)
			copy(t.F64[min(at, len(t.F64)):], part.F64)
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		tensors[i] = t
	}
	return tensors, f.Metadata, nil
}
