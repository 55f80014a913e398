package gguf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Read reads a file in memory. The File refers to data, which must not change.
func Read(data []byte) (*File, error) { return read(&memory{data: data}) }

func read(m *memory) (*File, error) {
	r := &reader{memory: m, rest: m.data}
	f, offsets := r.header()
	if r.err == nil {
		r.place(f, offsets)
	}
	if r.err != nil {
		return nil, r.err
	}
	return f, nil
}

// reader reads a header. After an error every method does nothing and returns zeros.
type reader struct {
	memory *memory
	rest   []byte
	at     string // what is read, for errors
	err    error
}

func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = errors.Errorf(format, args...)
		if r.at != "" {
			r.err = errors.WithMessage(r.err, r.at)
		}
		r.err = errors.WithMessage(r.err, "gguf")
		r.rest = nil
	}
}

// take returns the next n bytes.
func (r *reader) take(n uint64, what string) []byte {
	if r.err == nil && n > uint64(len(r.rest)) {
		r.failf("%s: got %d bytes, want %d", what, len(r.rest), n)
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint32(what string) uint32 {
	if b := r.take(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64(what string) uint64 {
	if b := r.take(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count returns a number of things of at least size bytes each.
func (r *reader) count(what string, size, most uint64) int {
	n := r.uint64(what)
	if n > most {
		r.failf("%s: got %d, want at most %d", what, n, most)
	} else if room := uint64(len(r.rest)) / size; n > room {
		r.failf("%s: got %d, but the %d bytes that follow hold at most %d", what, n, len(r.rest), room)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// name returns a string of 1 … most bytes of UTF-8.
func (r *reader) name(what string, most uint64) string {
	n := r.uint64(what)
	if r.err == nil && (n == 0 || n > most) {
		r.failf("%s: got %d bytes, want 1 to %d", what, n, most)
	}
	b := r.take(n, what)
	if !utf8.Valid(b) {
		r.failf("%s: got %.64q, which is not UTF-8", what, b)
	}
	return string(b)
}

// header reads everything before the data: the keys, and the tensors with their offsets.
func (r *reader) header() (f *File, offsets []uint64) {
	if got := string(r.take(4, "the first bytes")); r.err == nil && got != magic {
		r.failf("the first bytes: got %q, want %s", got, magic)
	}
	switch got := r.uint32("version"); {
	case r.err != nil || got == version:
	case bits.ReverseBytes32(got) == version:
		r.failf("version: got %d of a big-endian file, want a little-endian one", version)
	default:
		r.failf("version: got %d, want %d", got, version)
	}
	tensors := r.uint64("tensors") // compared with the bytes after the keys, which come first
	keys := r.count("keys", 8+1+4+1, maxKeys)
	if r.err == nil && tensors > maxTensors {
		r.failf("tensors: got %d, want at most %d", tensors, maxTensors)
	}
	f = &File{Keys: make([]Key, 0, keys)}
	seen := make(map[string]bool, keys)
	for range keys {
		k := r.key()
		if r.err == nil && seen[k.Name] {
			r.failf("key %.80q appears twice", k.Name)
		}
		if r.err != nil {
			return nil, nil
		}
		seen[k.Name] = true
		f.Keys = append(f.Keys, k)
	}
	return f, r.tensors(f, tensors)
}

// key reads a key with its value.
func (r *reader) key() Key {
	k := Key{Name: r.name("key", maxKey)}
	if r.err != nil {
		return k
	}
	r.at = fmt.Sprintf("key %.80q", k.Name)
	of, list := kind(r.uint32("kind")), false
	if list = of == kindList; list {
		if of = kind(r.uint32("kind")); of == kindList {
			r.failf("got a list of lists, want one of numbers, truth values or strings")
		}
	}
	k.Value = r.value(of, list)
	r.at = ""
	return k
}

// value reads a value of that kind, or a list of them.
func (r *reader) value(of kind, list bool) Value {
	v := Value{kind: of, list: list, n: 1, from: r.memory}
	size := uint64(of.size())
	if r.err == nil && size == 0 && of != kindString {
		r.failf("%s, want uint8 to float64, bool, string or a list of these", of)
	}
	if list {
		least := max(1, size)
		if of == kindString {
			least = 8 // its length
		}
		v.n = r.count("list", least, 1<<62)
	}
	if size > 0 {
		v.raw = r.take(uint64(v.n)*size, "value")
		if of == kindBool && slices.ContainsFunc(v.raw, func(b byte) bool { return b > 1 }) {
			r.failf("a truth value: got a byte above 1, want 0 or 1")
		}
		return v
	}
	begin := r.rest
	for range v.n {
		r.take(r.uint64("string"), "string")
		if r.err != nil {
			return Value{}
		}
	}
	v.raw = begin[:len(begin)-len(r.rest)]
	return v
}
