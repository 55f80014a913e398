package safetensors

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// An Entry describes one tensor of the header.
type Entry struct {
	Name  string
	Shape []int
	DType string // such as F32

	begin, end int         // byte range of the data
	file       io.ReaderAt // set by Open
	start      int64       // offset of the data section in file
	scales     *Entry      // of type MXFP4; otherwise nil
}

// parseHeader reads the JSON; checkLayout checks the entries against each other.
func parseHeader(text []byte) ([]Entry, map[string]string, error) {
	// The count only sizes the slice; the limit is checked below.
	guess := bytes.Count(text, []byte(`"data_offsets"`))
	entries := make([]Entry, 0, min(guess, maxTensors))
	var metadata map[string]string
	p := &parser{text: text}
	p.object(func(key []byte) {
		switch {
		case string(key) == metadataKey && metadata != nil:
			p.failf("%s appears twice", metadataKey)
		case string(key) == metadataKey:
			metadata = p.metadata()
		case len(entries) == maxTensors:
			p.failf("more than %d tensors", maxTensors)
		default:
			entries = append(entries, p.entry(key))
		}
	})
	if p.peek(); p.pos < len(text) {
		p.failf("text after the object")
	}
	return entries, metadata, p.err
}

func (p *parser) metadata() map[string]string {
	metadata := map[string]string{}
	p.object(func(key []byte) {
		k := string(key)
		v := string(p.str())
		if _, ok := metadata[k]; ok {
			p.failf("metadata %.80q appears twice", k)
		}
		if len(metadata) == maxMetadata {
			p.failf("more than %d metadata entries", maxMetadata)
		}
		metadata[k] = v
	})
	return metadata
}

// entry reads the object that describes the tensor with this name.
func (p *parser) entry(key []byte) Entry {
	e := Entry{Name: string(key), begin: -1}
	if err := checkName(e.Name); err != nil {
		p.failf("%v", err)
		return e
	}
	p.object(func(key []byte) {
		switch k := string(key); {
		case k == "dtype" && e.DType == "":
			e.DType = p.dtype()
		case k == "shape" && e.Shape == nil:
			e.Shape = p.shape()
		case k == "data_offsets" && e.begin < 0:
			e.begin, e.end = p.offsets()
		default:
			p.failf("tensor %.80q: key %.80q is unknown or appears twice", e.Name, k)
		}
	})
	if p.err == nil && (e.DType == "" || e.Shape == nil || e.begin < 0) {
		p.failf("tensor %.80q: needs dtype, shape and data_offsets", e.Name)
	}
	n, err := size(e.Shape)
	if want := n * width(e.DType); err == nil && e.end-e.begin != want {
		err = errors.Errorf("data_offsets [%d, %d] hold %d bytes, want %d for %s %v",
			e.begin, e.end, e.end-e.begin, want, e.DType, e.Shape)
	}
	if err != nil {
		p.failf("tensor %.80q: %v", e.Name, err)
	}
	return e
}

func (p *parser) dtype() string {
	dtype := string(p.str())
	if p.err == nil && width(dtype) == 0 {
		p.failf("dtype %.80q is not supported", dtype)
	}
	return dtype
}

// shape reads a list of dimensions; the result is never nil.
func (p *parser) shape() []int {
	var dims [maxRank]int
	rank := 0
	p.list('[', ']', func() {
		if rank == maxRank {
			p.failf("more than %d dimensions", maxRank)
			return
		}
		dims[rank] = p.uint()
		rank++
	})
	return append(make([]int, 0, rank), dims[:rank]...)
}

func (p *parser) offsets() (begin, end int) {
	p.expect('[')
	begin = p.uint()
	p.expect(',')
	end = p.uint()
	p.expect(']')
	return begin, end
}

// checkLayout sorts the entries by the position of their values. It checks that names differ and that the values fill
// the n bytes of data, each byte once.
func checkLayout(entries []Entry, n int) error {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(entries); i++ {
		if entries[i].Name == entries[i-1].Name {
			return errors.Errorf("tensor %.80q appears twice", entries[i].Name)
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	end := 0
	for _, e := range entries {
		if e.begin != end {
			return errors.Errorf("tensor %.80q begins at byte %d, want %d: the values overlap or leave a hole",
				e.Name, e.begin, end)
		}
		end = e.end
	}
	if end != n {
		return errors.Errorf("the tensors have %d bytes, the file %d", end, n)
	}
	return nil
}
