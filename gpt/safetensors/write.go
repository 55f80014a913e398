package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// chunk is how many values are encoded at a time.
const chunk = 8192

// Write writes the tensors and the metadata (nil for none) to w. The same arguments give the same bytes. Tensors stand
// in the order given, except that those of float64 come first: with the header a multiple of 8 bytes long, every value
// is then aligned for whoever maps the file into memory.
//
// It refuses empty, repeated and reserved names, names with a NUL or invalid UTF-8, shapes that do not agree with the
// number of values, and whatever exceeds the limits of Read.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	if w == nil {
		return errors.New("safetensors: nothing to write to: the writer is nil")
	}
	tensors = slices.Clone(tensors)
	slices.SortStableFunc(tensors, func(a, b Tensor) int {
		return cmp.Compare(min(1, len(b.F64)), min(1, len(a.F64)))
	})
	header, err := encodeHeader(tensors, metadata)
	if err != nil {
		return errors.Wrap(err, "safetensors")
	}
	if _, err := w.Write(header); err != nil {
		return errors.Wrap(err, "safetensors: header")
	}
	buf := make([]byte, 0, 8*chunk)
	for _, t := range tensors {
		if buf, err = writeValues(w, buf, t.F64); err == nil {
			buf, err = writeValues(w, buf, t.F32)
		}
		if err != nil {
			return errors.Wrapf(err, "safetensors: tensor %q", t.Name)
		}
	}
	return nil
}

func writeValues[T float32 | float64](w io.Writer, buf []byte, values []T) ([]byte, error) {
	for part := range slices.Chunk(values, chunk) {
		var err error
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, part); err != nil {
			return buf, err
		}
		if _, err := w.Write(buf); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// encodeHeader is the length and the JSON, padded with spaces to a multiple of 8.
func encodeHeader(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	if len(tensors) > maxTensors {
		return nil, errors.Errorf("%d tensors, the limit is %d", len(tensors), maxTensors)
	}
	var b bytes.Buffer
	b.Write(make([]byte, 8)) // the length, filled in below
	b.WriteByte('{')
	if metadata != nil {
		if err := encodeMetadata(&b, metadata); err != nil {
			return nil, err
		}
	}
	seen := make(map[string]bool, len(tensors))
	offset := 0
	for i, t := range tensors {
		if seen[t.Name] {
			return nil, errors.Errorf("tensor %q appears twice", t.Name)
		}
		seen[t.Name] = true
		if i > 0 || metadata != nil {
			b.WriteByte(',')
		}
		var err error
		if offset, err = encodeTensor(&b, t, offset); err != nil {
			return nil, errors.Wrapf(err, "tensor %d, %q", i, t.Name)
		}
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len()-8 > maxHeader {
		return nil, errors.Errorf("header has %d bytes, the limit is %d", b.Len()-8, maxHeader)
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}

func encodeMetadata(b *bytes.Buffer, metadata map[string]string) error {
	if len(metadata) > maxMetadata {
		return errors.Errorf("%d metadata entries, the limit is %d", len(metadata), maxMetadata)
	}
	for k, v := range metadata {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return errors.Errorf("metadata %q: %q is not valid UTF-8", k, v)
		}
	}
	text, err := json.Marshal(metadata) // sorts the keys
	if err != nil {
		return errors.Wrap(err, "metadata")
	}
	b.WriteString(`"` + metadataKey + `":`)
	b.Write(text)
	return nil
}

// encodeTensor appends one entry of the header and returns where its values end.
func encodeTensor(b *bytes.Buffer, t Tensor, begin int) (end int, err error) {
	if err := checkName(t.Name); err != nil {
		return 0, err
	}
	if (t.F32 == nil) == (t.F64 == nil) {
		return 0, errors.New("needs either F32 or F64")
	}
	n, err := size(t.Shape)
	if err != nil {
		return 0, err
	}
	if got := len(t.F32) + len(t.F64); got != n {
		return 0, errors.Errorf("got %d values, want %d for shape %v", got, n, t.Shape)
	}
	dtype := "F32"
	if t.F64 != nil {
		dtype = "F64"
	}
	end = begin + n*width(dtype)
	name, err := json.Marshal(t.Name)
	if err != nil {
		return 0, err
	}
	b.Write(name)
	entry, err := json.Marshal(struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}{dtype, append([]int{}, t.Shape...), [2]int{begin, end}})
	b.WriteByte(':')
	b.Write(entry)
	return end, err
}

// checkName refuses names that cannot be told apart or printed safely.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case name == metadataKey:
		return errors.Errorf("the name %s is reserved", metadataKey)
	case strings.ContainsRune(name, 0):
		return errors.New("the name contains a NUL")
	case !utf8.ValidString(name):
		return errors.New("the name is not valid UTF-8")
	}
	return nil
}
