package safetensors

import (
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/pkg/errors"
)

// WriteEach writes tensors like Write, but asks for them one by one. An entry holds the name of a tensor, its shape,
// and its type F32, F64 or BF16. values returns the numbers of entry i, which WriteEach does not use after the next
// call. Numbers of BF16 are passed as F32 and rounded to the nearest, of two equally near to the even one.
func WriteEach(w io.Writer, entries []Entry, metadata map[string]string, values func(i int) (Tensor, error)) error {
	if w == nil {
		return errors.New("safetensors: nothing to write to: the writer is nil")
	}
	if values == nil {
		return errors.New("safetensors: nothing to write: the function that returns the values is nil")
	}
	header, err := encodeHeader(entries, metadata)
	if err != nil {
		return errors.Wrap(err, "safetensors")
	}
	if _, err := w.Write(header); err != nil {
		return errors.Wrap(err, "safetensors: header")
	}
	buf := make([]byte, 0, 8*chunk)
	for i, e := range entries {
		t, err := values(i)
		if err == nil {
			err = e.holds(t)
		}
		if err == nil && e.DType == BF16 {
			buf, err = writeValues(w, buf, t.F32, appendBF16)
		} else if err == nil {
			if buf, err = writeValues(w, buf, t.F32, appendValues[float32]); err == nil {
				buf, err = writeValues(w, buf, t.F64, appendValues[float64])
			}
		}
		if err != nil {
			return errors.Wrapf(err, "safetensors: tensor %q", e.Name)
		}
	}
	return nil
}

// holds returns an error unless t has the numbers that e describes.
func (e Entry) holds(t Tensor) error {
	if (t.F32 == nil) == (t.F64 == nil) || (e.DType == F64) != (t.F64 != nil) {
		return errors.New("needs either F32 or F64")
	}
	n, _ := size(e.Shape) // the header has it, so it is valid
	if got := len(t.F32) + len(t.F64); got != n {
		return errors.Errorf("got %d values, want %d for shape %v", got, n, e.Shape)
	}
	return nil
}

func writeValues[T float32 | float64](
	w io.Writer, buf []byte, values []T, put func([]byte, []T) ([]byte, error),
) ([]byte, error) {
	for part := range slices.Chunk(values, chunk) {
		var err error
		if buf, err = put(buf[:0], part); err != nil {
			return buf, err
		}
		if _, err := w.Write(buf); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

func appendValues[T float32 | float64](buf []byte, values []T) ([]byte, error) {
	return binary.Append(buf, binary.LittleEndian, values)
}

// appendBF16 rounds by adding half of the part that is cut off, and a little less if the result would be even.
func appendBF16(buf []byte, values []float32) ([]byte, error) {
	for _, x := range values {
		bits := math.Float32bits(x)
		if bits>>23&255 != 255 { // finite
			bits += 1<<15 - 1 + bits>>16&1
			if bits>>23&255 == 255 {
				return buf, errors.Errorf("%g is beyond the largest number of BF16", x)
			}
		}
		buf = binary.LittleEndian.AppendUint16(buf, uint16(bits>>16))
	}
	return buf, nil
}
