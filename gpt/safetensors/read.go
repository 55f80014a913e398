package safetensors

import (
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/internal/blocks"
	"github.com/pkg/errors"
)

// A File is a file whose header has been read. The values stay in the file until Values is called. For a model in
// several files, the Entries of all files may be combined in one File.
type File struct {
	Entries  []Entry           // in the order of their values
	Metadata map[string]string // nil if the file has none

	raw  []byte
	part Tensor // the buffers of F32 and F64
}

// Open reads the header of a file of the given size.
//
// F32 and F64 are kept; F16 and BF16 become float32, which represents each of their values exactly. Integers and
// booleans have no values (see Tensor); every other type is an error. So is anything that the format does not allow:
// unknown, missing or repeated keys, repeated or empty names, text that is not valid UTF-8, and values that overlap,
// leave holes or do not fill the file. White space around the JSON is allowed.
func Open(r io.ReaderAt, size int64) (*File, error) {
	if r == nil {
		return nil, errors.New("safetensors: nothing to read: the reader is nil")
	}
	var first [8]byte
	if _, err := r.ReadAt(first[:], 0); err != nil && err != io.EOF {
		return nil, errors.Wrap(err, "safetensors")
	}
	n, err := headerSize(first[:], size)
	if err != nil {
		return nil, errors.Wrap(err, "safetensors")
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil && err != io.EOF {
		return nil, errors.Wrap(err, "safetensors: header")
	}
	return open(header, r, size)
}

// headerSize returns the length of the header, as stored in the first bytes of a file of the given size.
func headerSize(first []byte, size int64) (int64, error) {
	if size < 8 {
		return 0, errors.Errorf("got %d bytes, want at least 8", size)
	}
	switch n := binary.LittleEndian.Uint64(first); {
	case n > maxHeader:
		return 0, errors.Errorf("header of %d bytes, the limit is %d", n, maxHeader)
	case n > uint64(size-8):
		return 0, errors.Errorf("header of %d bytes, but only %d follow", n, size-8)
	default:
		return int64(n), nil
	}
}

func open(header []byte, r io.ReaderAt, size int64) (*File, error) {
	f, start := new(File), 8+int64(len(header))
	var err error
	if f.Entries, f.Metadata, err = parseHeader(header); err != nil {
		return nil, errors.Wrap(err, "safetensors")
	}
	if err := checkLayout(f.Entries, int(size-start)); err != nil {
		return nil, errors.Wrap(err, "safetensors")
	}
	for i := range f.Entries {
		f.Entries[i].file, f.Entries[i].start = r, start
	}
	return f, nil
}

// Len returns the number of values, which is 0 for integers and booleans.
func (e Entry) Len() int {
	switch {
	case e.scales != nil:
		return 2 * (e.end - e.begin)
	case slices.Contains([]string{F64, F32, "F16", BF16}, e.DType):
		return (e.end - e.begin) / width(e.DType)
	}
	return 0
}

// Bytes returns the number of bytes of the tensor's values in the file.
func (e Entry) Bytes() int {
	if e.scales != nil {
		return e.end - e.begin + e.scales.Bytes()
	}
	return e.end - e.begin
}

// Values calls visit with the values of a tensor from index at on, some thousands at a time, which are valid only
// during the call. e must be an Entry of Open and may be renamed.
func (f *File) Values(e Entry, visit func(at int, part Tensor) error) error {
	step := width(e.DType)
	if e.scales != nil {
		step = 1
	}
	if f == nil || e.file == nil || step == 0 || visit == nil {
		return errors.Errorf("safetensors: tensor %.80q: "+
			"want an entry of a file of Open, and a function to visit its values",
			e.Name)
	}
	if f.raw == nil {
		f.raw, f.part.F32 = make([]byte, 8*chunk), make([]float32, chunk)
	}
	for at, n := 0, e.Len(); at < n; at += chunk {
		part, err := f.read(e, at, min(chunk, n-at), step)
		if err != nil {
			return err
		}
		if err := visit(at, part); err != nil {
			return err
		}
	}
	return nil
}

// read returns n values from index at on, of step bytes each.
func (f *File) read(e Entry, at, n, step int) (Tensor, error) {
	if e.scales != nil {
		return f.readBlocks(e, at, n)
	}
	raw := f.raw[:n*step]
	if err := e.bytes(raw, at*step); err != nil {
		return Tensor{}, err
	}
	return f.decode(e.DType, raw), nil
}

// bytes reads the bytes of the values from byte at on.
func (e Entry) bytes(raw []byte, at int) error {
	if got, err := e.file.ReadAt(raw, e.start+int64(e.begin+at)); got < len(raw) {
		return errors.Wrapf(err, "safetensors: tensor %.80q", e.Name)
	}
	return nil
}

// decode converts bytes into values in the buffers of f.
func (f *File) decode(dtype string, raw []byte) Tensor {
	n := len(raw) / width(dtype)
	narrow := f.part.F32[:n]
	switch dtype {
	case F64:
		if f.part.F64 == nil {
			f.part.F64 = make([]float64, chunk)
		}
		wide := f.part.F64[:n]
		for i := range wide {
			wide[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		return Tensor{F64: wide}
	case F32:
		for i := range narrow {
			narrow[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case "F16":
		for i := range narrow {
			narrow[i] = blocks.Half(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	case BF16: // the upper half of a float32
		for i := range narrow {
			narrow[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	}
	return Tensor{F32: narrow}
}
