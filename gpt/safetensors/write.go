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

// chunk is the number of values that are encoded at a time.
const chunk = 8192

// Write writes the tensors and the optional metadata to w. The same arguments produce the same bytes. Tensors keep the
// given order, except that float64 comes first: since the length of the header is a multiple of 8 bytes, every value is
// then aligned when the file is mapped into memory.
//
// Write refuses empty, repeated and reserved names, names with a NUL or invalid UTF-8, shapes that do not match the
// number of values, and everything that exceeds the limits of Read.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	tensors = slices.Clone(tensors)
	slices.SortStableFunc(tensors, func(a, b Tensor) int {
		return cmp.Compare(min(1, len(b.F64)), min(1, len(a.F64)))
	})
	entries := make([]Entry, len(tensors))
	for i, t := range tensors {
		entries[i] = Entry{Name: t.Name, Shape: t.Shape, DType: F32}
		if t.F64 != nil {
			entries[i].DType = F64
		}
	}
	if _, err := encodeHeader(entries, metadata); err != nil { // header errors come first
		return errors.Wrap(err, "safetensors")
	}
	for i, e := range entries {
		if err := e.holds(tensors[i]); err != nil {
			return errors.Wrapf(err, "safetensors: tensor %d, %q", i, e.Name)
		}
	}
	return WriteEach(w, entries, metadata, func(i int) (Tensor, error) { return tensors[i], nil })
}

// encodeHeader returns the length and the JSON, padded with spaces to a multiple of 8 bytes.
func encodeHeader(entries []Entry, metadata map[string]string) ([]byte, error) {
	if len(entries) > maxTensors {
		return nil, errors.Errorf("%d tensors, the limit is %d", len(entries), maxTensors)
	}
	var b bytes.Buffer
	b.Write(make([]byte, 8)) // the length, filled in below
	b.WriteByte('{')
	if metadata != nil {
		if err := encodeMetadata(&b, metadata); err != nil {
			return nil, err
		}
	}
	seen := make(map[string]bool, len(entries))
	offset := 0
	for i, e := range entries {
		if seen[e.Name] {
			return nil, errors.Errorf("tensor %q appears twice", e.Name)
		}
		seen[e.Name] = true
		if i > 0 || metadata != nil {
			b.WriteByte(',')
		}
		var err error
		if offset, err = encodeEntry(&b, e, offset); err != nil {
			return nil, errors.Wrapf(err, "tensor %d, %q", i, e.Name)
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

// encodeEntry appends one entry of the header and returns the end of its values.
func encodeEntry(b *bytes.Buffer, e Entry, begin int) (end int, err error) {
	if err := checkName(e.Name); err != nil {
		return 0, err
	}
	if e.DType != F32 && e.DType != F64 && e.DType != BF16 {
		return 0, errors.Errorf("dtype: got %.80q, want F32, F64 or BF16", e.DType)
	}
	n, err := size(e.Shape)
	if err != nil {
		return 0, err
	}
	end = begin + n*width(e.DType)
	name, err := json.Marshal(e.Name)
	if err != nil {
		return 0, err
	}
	b.Write(name)
	entry, err := json.Marshal(struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}{e.DType, append([]int{}, e.Shape...), [2]int{begin, end}})
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
