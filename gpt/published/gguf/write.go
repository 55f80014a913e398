package gguf

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/internal/blocks"
	"github.com/pkg/errors"
)

// Entry describes a tensor to be written.
type Entry struct {
	Name  string
	Shape []int // the outermost size first
	Type  Type  // F32, F16, BF16, Q8_0 or Q4_0
}

// chunk is about the number of values that are encoded at a time.
const chunk = 1 << 16

// Write writes a file with the given keys and tensors. values returns the numbers of entry i, which Write does not use
// after the next call. The same arguments produce the same bytes. With the largest number M of a block, the distance of
// a number x in the file from the given one is at most
//
//	F32   0
//	F16   2⁻¹¹·|x| + 2⁻²⁵
//	BF16  2⁻⁸·|x|
//	Q8_0  M/254 + 2⁻¹⁰·M + 2⁻¹⁸
//	Q4_0  M/8 + 2⁻¹⁰·M + 2⁻²¹
//
// Write refuses everything that Read refuses, a type that it cannot write, and numbers that are not finite or too large
// for their type. A tensor in blocks must have an innermost size that fills them.
func Write(w io.Writer, keys []Key, entries []Entry, values func(i int) ([]float32, error)) error {
	switch {
	case w == nil:
		return errorf("nothing to write to: the writer is nil")
	case values == nil:
		return errorf("nothing to write: the function that returns the values is nil")
	}
	header, step, err := encodeHeader(keys, entries)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return wrapf(err, "header")
	}
	for i, e := range entries {
		x, err := values(i)
		if err == nil {
			err = e.write(w, x, step, i == len(entries)-1)
		}
		if err != nil {
			return wrapf(err, "tensor %.80q", e.Name)
		}
	}
	return nil
}

// write writes the numbers of a tensor and, unless it is the last, the padding after them.
func (e Entry) write(w io.Writer, x []float32, step int, last bool) (err error) {
	if n := (Tensor{Shape: e.Shape}).Len(); len(x) != n {
		return errors.Errorf("got %d values, want %d for shape %v", len(x), n, e.Shape)
	}
	var buf []byte
	size := 0
	for part := range slices.Chunk(x, chunk) { // a multiple of every block
		if buf, err = e.Type.Encode(buf[:0], part); err != nil {
			return err
		}
		if _, err = w.Write(buf); err != nil {
			return err
		}
		size += len(buf)
	}
	if !last {
		_, err = w.Write(make([]byte, -size&(step-1)))
	}
	return err
}

// encodeHeader returns everything before the data, and the alignment. It reads the header again, so that everything
// that Read refuses is an error.
func encodeHeader(keys []Key, entries []Entry) (header []byte, step int, err error) {
	b := binary.LittleEndian.AppendUint32([]byte(magic), version)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(entries)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(keys)))
	step = alignment
	for _, k := range keys {
		if len(k.raw) == 0 && !k.list {
			return nil, 0, errorf("key %.80q: no value, or a number outside of its range", k.Name)
		}
		if n, err := k.Int(); k.Name == alignmentKey && err == nil && n > 0 {
			step = n
		}
		b = k.append(appendString(b, k.Name))
	}
	end := 0
	for _, e := range entries {
		if !slices.Contains(blocks.Writable(), e.Type) {
			return nil, 0, errorf("tensor %.80q: type: got %v, want one of %v", e.Name, e.Type, blocks.Writable())
		}
		b = binary.LittleEndian.AppendUint32(appendString(b, e.Name), uint32(len(e.Shape)))
		for _, size := range slices.Backward(e.Shape) {
			b = binary.LittleEndian.AppendUint64(b, uint64(size))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(e.Type))
		b = binary.LittleEndian.AppendUint64(b, uint64(end))
		size, _ := e.Type.Bytes((Tensor{Shape: e.Shape}).Len()) // the reader returns the error, if any
		end = (end + size + step - 1) / step * step
	}
	r := &reader{memory: &memory{data: b}, rest: b}
	f, _ := r.header()
	if step = r.alignment(f); r.err != nil {
		return nil, 0, r.err
	}
	if len(entries) > 0 {
		b = append(b, make([]byte, -len(b)&(step-1))...)
	}
	return b, step, nil
}

// append appends a value with its kind.
func (v Value) append(b []byte) []byte {
	if v.list {
		b = binary.LittleEndian.AppendUint32(b, uint32(kindList))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(v.kind))
	if v.list {
		b = binary.LittleEndian.AppendUint64(b, uint64(v.n))
	}
	return append(b, v.raw...)
}
