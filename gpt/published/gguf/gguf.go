// Package gguf reads and writes GGUF files of version 3, in which llama.cpp and the programs built on it store models.
// Start with Open, which maps a file into memory, and Write.
//
// A file is little-endian. It begins with the letters GGUF, the version, and the numbers of tensors and keys (uint64).
// Then come the keys with their values, and for each tensor its name, its sizes (the innermost first), its type and its
// offset in the data. The data begins at the next multiple of general.alignment, 32 by default, and so does every
// tensor.
//
// A file has no checksum, so the reader is strict. Every count, length, offset and type is checked against the limits
// below and the size of the file before memory is allocated. The tensors must follow one another, each byte belonging
// to one of them or to the padding after it.
package gguf

import (
	"math"
	"runtime"

	"github.com/pedestrian-ml/pedestrian/internal/blocks"
)

// Type is the type of the numbers of a tensor.
type Type = blocks.Type

// The types of numbers: float32, its halves, and blocks of 32 or 256 whole numbers n with scales. In a block d and m
// are binary16 numbers, s and t whole numbers for a part of the block.
const (
	F32  = blocks.F32
	F16  = blocks.F16  // binary16
	BF16 = blocks.BF16 // the upper half of a float32
	Q4_0 = blocks.Q4_0 // 32 numbers x = d·(n − 8) in 18 bytes
	Q4_1 = blocks.Q4_1 // 32 numbers x = d·n + m in 20 bytes
	Q5_0 = blocks.Q5_0 // 32 numbers x = d·(n − 16) in 22 bytes
	Q5_1 = blocks.Q5_1 // 32 numbers x = d·n + m in 24 bytes
	Q8_0 = blocks.Q8_0 // 32 numbers x = d·n in 34 bytes
	Q4_K = blocks.Q4_K // 256 numbers x = d·s·n − m·t in 144 bytes
	Q5_K = blocks.Q5_K // 256 numbers x = d·s·n − m·t in 176 bytes
	Q6_K = blocks.Q6_K // 256 numbers x = d·s·(n − 32) in 210 bytes

	MXFP4 = blocks.MXFP4 // 32 numbers x = 2^(e−127)·v in 17 bytes
)

// TypeOf returns the type of that name; ok is false if Write writes no such type.
func TypeOf(name string) (t Type, ok bool) {
	for _, t := range blocks.Writable() {
		if t.String() == name {
			return t, true
		}
	}
	return 0, false
}

// Limits that reading and writing share.
const (
	maxKeys      = 1 << 16
	maxTensors   = 1 << 17
	maxName      = 64      // bytes of a tensor's name
	maxKey       = 1 << 16 // bytes of a key
	maxRank      = 4
	maxNumbers   = math.MaxInt / 8 // of a tensor: their bytes fit an int
	maxAlignment = 1 << 16
)

const (
	magic     = "GGUF"
	version   = 3
	alignment = 32
	// alignmentKey is the key of the alignment.
	alignmentKey = "general.alignment"
)

// File is a file whose header has been read. It is read-only, and may be used by several goroutines.
type File struct {
	Keys    []Key    // in the order of the file
	Tensors []Tensor // in the order of the file
}

// Key is a key with its value.
type Key struct {
	Name string
	Value
}

// Tensor is a tensor of a file.
type Tensor struct {
	Name  string
	Shape []int // the outermost size first: (outputs, inputs) for a matrix
	Type  Type

	data   []byte  // its blocks
	mapped *memory // the memory that holds them
}

// Find returns the value of a key; ok is false if the file has no such key.
func (f *File) Find(name string) (v Value, ok bool) {
	if f == nil {
		return v, false
	}
	for _, k := range f.Keys {
		if k.Name == name {
			return k.Value, true
		}
	}
	return v, false
}

// Len returns the number of the tensor's numbers.
func (t Tensor) Len() int {
	n := 1
	for _, size := range t.Shape {
		n *= size
	}
	return n
}

// Blocks returns the bytes of the tensor in the file, which must not be changed. They are valid as long as t, or owner,
// is referenced: keep owner beside them.
func (t Tensor) Blocks() (data []byte, owner any) { return t.data, t.mapped }

// Values sets x, which has the length of a whole number of rows, to the numbers from row first on. A row is all numbers
// of one index in the outermost size; a vector is a single row.
func (t Tensor) Values(x []float32, first int) error {
	rows, width := 1, t.Len()
	if len(t.Shape) > 1 {
		rows = t.Shape[0]
		width /= rows
	}
	size, err := t.Type.Bytes(width)
	if err != nil {
		return wrapf(err, "tensor %.80q", t.Name)
	}
	n := len(x) / max(1, width)
	if first < 0 || n*width != len(x) || n > rows-first || len(t.data) != rows*size {
		return errorf("tensor %.80q: got %d numbers from row %d on, want rows of %d of a file's %d",
			t.Name, len(x), first, width, rows)
	}
	defer runtime.KeepAlive(t.mapped)
	return t.Type.Decode(x, t.data[first*size:(first+n)*size])
}
