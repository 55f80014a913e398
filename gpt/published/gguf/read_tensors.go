package gguf

import (
	"fmt"
	"math/bits"
	"slices"
)

// tensors reads the descriptions of n tensors and returns their offsets.
func (r *reader) tensors(f *File, n uint64) (offsets []uint64) {
	const least = 8 + 1 + 4 + 8 + 4 + 8 // bytes of a description
	if most := uint64(len(r.rest)) / least; r.err == nil && n > most {
		r.failf("tensors: got %d, but the %d bytes that follow hold at most %d", n, len(r.rest), most)
	}
	if r.err != nil {
		return nil
	}
	f.Tensors, offsets = make([]Tensor, n), make([]uint64, n)
	names := make(map[string]bool, n)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		*t, offsets[i] = r.tensor()
		if r.err == nil && names[t.Name] {
			r.failf("tensor %.80q appears twice", t.Name)
		}
		if r.err != nil {
			return nil
		}
		names[t.Name] = true
	}
	return offsets
}

// tensor reads the description of a tensor and returns its offset.
func (r *reader) tensor() (t Tensor, offset uint64) {
	if t.Name = r.name("tensor", maxName); r.err != nil {
		return t, 0
	}
	r.at = fmt.Sprintf("tensor %.80q", t.Name)
	rank := r.uint32("sizes")
	if r.err == nil && (rank < 1 || rank > maxRank) {
		r.failf("sizes: got %d, want 1 to %d", rank, maxRank)
		return t, 0
	}
	product := uint64(1)
	for range rank {
		size := r.uint64("size")
		high, low := bits.Mul64(product, size)
		if r.err == nil && (size == 0 || high != 0 || low > maxNumbers) {
			r.failf("size: got %d, want at least 1, and at most %d numbers", size, uint64(maxNumbers))
			return t, 0
		}
		product = low
		t.Shape = append(t.Shape, int(size))
	}
	t.Type = Type(r.uint32("type"))
	offset = r.uint64("offset")
	if r.err == nil {
		if _, err := t.Type.Bytes(t.Shape[0]); err != nil {
			r.failf("%v", err)
		}
	}
	slices.Reverse(t.Shape)
	r.at = ""
	return t, offset
}

// place finds the numbers of the tensors in the data.
func (r *reader) place(f *File, offsets []uint64) {
	step := uint64(r.alignment(f))
	if len(f.Tensors) == 0 || r.err != nil {
		return
	}
	before := uint64(len(r.memory.data) - len(r.rest))
	r.take(-before&(step-1), "padding before the tensors")
	data, end := r.rest, uint64(0)
	for i := range f.Tensors {
		t, at := &f.Tensors[i], offsets[i]
		bytes, _ := t.Type.Bytes(t.Len()) // tensor has returned the error, if any
		size, have := uint64(bytes), uint64(len(data))
		switch {
		case at != end:
			r.failf("tensor %.80q begins at byte %d of the data, want %d: tensors overlap or leave a hole",
				t.Name, at, end)
		case at > have || size > have-at:
			r.failf("tensor %.80q has bytes %d … %d of the data, of which the file has %d",
				t.Name, at, at+size, have)
		}
		if r.err != nil {
			return
		}
		t.data, t.mapped = data[at:at+size:at+size], r.memory
		end = (at + size + step - 1) &^ (step - 1)
	}
	if uint64(len(data)) > end {
		r.failf("the tensors end at byte %d of the data, of which the file has %d", end, len(data))
	}
}

// alignment returns the alignment of the tensors.
func (r *reader) alignment(f *File) int {
	v, ok := f.Find(alignmentKey)
	if !ok || r.err != nil {
		return alignment
	}
	n, err := v.Int()
	if err != nil || n < 8 || n > maxAlignment || n&(n-1) != 0 {
		r.failf("%s: got %s, want a power of two from 8 to %d", alignmentKey, v, maxAlignment)
		return alignment
	}
	return n
}
