// Package safetensors reads and writes the file format in which the weights of models are published. Start with Read
// and Write for files in memory; Open reads a file of any size piece by piece, and WriteEach writes one tensor by
// tensor.
//
// A file is a header length n (8 bytes, little endian), n bytes of JSON, and the tensors' values, little endian and row
// by row:
//
//	{"__metadata__": {"format": "pt"},
//	 "wte.weight": {"dtype": "F32", "shape": [65, 48], "data_offsets": [0, 12480]}}
//
// Offsets count from the first byte after the header. The format has no checksum, so the reader is strict: everything
// that the description of the format does not allow is an error, and sizes are checked before memory is allocated.
package safetensors

import (
	"math"
	"math/bits"

	"github.com/pkg/errors"
)

// Limits that Read and Write share, so that what is written can be read.
const (
	maxHeader   = 8 << 20 // bytes
	maxTensors  = 10_000
	maxMetadata = 1_000 // entries
	maxRank     = 8
)

// The types of numbers that Write and WriteEach support.
const (
	F32  = "F32"
	F64  = "F64"
	BF16 = "BF16" // the upper half of a float32
)

// metadataKey is the only key of the header that is not the name of a tensor.
const metadataKey = "__metadata__"

// A Tensor is a named array in row-major order. Exactly one of F32 and F64 is not nil. An empty Shape means a scalar.
//
// Read also returns tensors of integers and booleans (GPT-2's files store the causal mask in some) with their names
// only; F32 and F64 are both nil.
type Tensor struct {
	Name  string
	Shape []int
	F32   []float32
	F64   []float64
}

// size returns the number of elements of a shape. In the check for overflow zeros count as ones, so that the order of
// the dimensions does not matter.
func size(shape []int) (int, error) {
	if len(shape) > maxRank {
		return 0, errors.Errorf("rank is %d, the limit %d", len(shape), maxRank)
	}
	product, empty := uint64(1), false
	for _, d := range shape {
		if d < 0 {
			return 0, errors.Errorf("shape %v has a negative dimension", shape)
		}
		empty = empty || d == 0
		high, low := bits.Mul64(product, uint64(max(d, 1)))
		if high != 0 || low > math.MaxInt/8 { // 8 bytes is the widest element
			return 0, errors.Errorf("shape %v overflows", shape)
		}
		product = low
	}
	if empty {
		return 0, nil
	}
	return int(product), nil
}

// width returns the bytes per element of a dtype that Read supports, otherwise 0.
func width(dtype string) int {
	switch dtype {
	case "BOOL", "U8", "I8":
		return 1
	case "F16", BF16, "U16", "I16":
		return 2
	case F32, "U32", "I32":
		return 4
	case F64, "U64", "I64":
		return 8
	}
	return 0
}
