// Package blocks describes the types in which GGUF files store numbers: float32, its halves, and blocks of whole
// numbers with common scales. Decode returns the numbers of blocks, and Encode rounds numbers to blocks. All bytes are
// little-endian.
package blocks

import (
	"strings"

	"github.com/pkg/errors"
)

// Type is the type of the numbers of a tensor. Its values are those in GGUF files.
type Type uint32

// The types. A block of Q types has a scale d, and some have a minimum m; both are binary16. n are whole numbers.
const (
	F32  Type = 0
	F16  Type = 1  // IEEE 754 binary16: 5 bits of exponent, 10 of fraction
	Q4_0 Type = 2  // 32 numbers x = d·(n − 8), 0 ≤ n < 16
	Q4_1 Type = 3  // 32 numbers x = d·n + m, 0 ≤ n < 16
	Q5_0 Type = 6  // 32 numbers x = d·(n − 16), 0 ≤ n < 32
	Q5_1 Type = 7  // 32 numbers x = d·n + m, 0 ≤ n < 32
	Q8_0 Type = 8  // 32 numbers x = d·n, −128 ≤ n < 128
	Q4_K Type = 12 // 256 numbers x = d·s·n − m·t, 0 ≤ n < 16; s and t of 6 bits for each 32
	Q5_K Type = 13 // 256 numbers x = d·s·n − m·t, 0 ≤ n < 32; s and t of 6 bits for each 32
	Q6_K Type = 14 // 256 numbers x = d·s·(n − 32), 0 ≤ n < 64; s of 8 bits for each 16
	BF16 Type = 30 // the upper half of a float32

	MXFP4 Type = 39 // 32 numbers x = 2^(e−127)·v, v of 4 bits: see FourBits
)

// kind describes a type.
type kind struct {
	Type
	name           string
	numbers, bytes int // of a block
	decode         func(x []float32, block []byte)
}

var kinds = []kind{
	{F32, "F32", 1, 4, decodeF32}, {F16, "F16", 1, 2, decodeF16}, {BF16, "BF16", 1, 2, decodeBF16},
	{Q4_0, "Q4_0", 32, 18, decodeQ4_0}, {Q4_1, "Q4_1", 32, 20, decodeQ4_1},
	{Q5_0, "Q5_0", 32, 22, decodeQ5_0}, {Q5_1, "Q5_1", 32, 24, decodeQ5_1},
	{Q8_0, "Q8_0", 32, 34, decodeQ8_0},
	{Q4_K, "Q4_K", 256, 144, decodeQ4_K}, {Q5_K, "Q5_K", 256, 176, decodeQ5_K}, {Q6_K, "Q6_K", 256, 210, decodeQ6_K},
	{MXFP4, "MXFP4", 32, 17, decodeMXFP4},
}

func (t Type) kind() (kind, bool) {
	for _, k := range kinds {
		if k.Type == t {
			return k, true
		}
	}
	return kind{}, false
}

// Names lists the names of all types.
func Names() string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}

// String returns the name of the type, such as Q8_0.
func (t Type) String() string {
	if k, ok := t.kind(); ok {
		return k.name
	}
	return "an unknown type"
}

// Block returns the numbers and the bytes of a block. They are 0 for an unknown type.
func (t Type) Block() (numbers, bytes int) {
	k, _ := t.kind()
	return k.numbers, k.bytes
}

// Bytes returns the bytes of n numbers. It is an error if they do not fill their blocks.
func (t Type) Bytes(n int) (int, error) {
	numbers, bytes := t.Block()
	switch {
	case numbers == 0:
		return 0, errors.Errorf("type: got %d, want one of %s", uint32(t), Names())
	case n < 0 || n%numbers != 0:
		return 0, errors.Errorf("%s: got %d numbers, want a multiple of %d", t, n, numbers)
	}
	return n / numbers * bytes, nil
}

// Decode sets x to the numbers of the blocks in data, which must be exactly as many as x has.
func (t Type) Decode(x []float32, data []byte) error {
	want, err := t.Bytes(len(x))
	if err == nil && len(data) != want {
		err = errors.Errorf("%s: got %d bytes, want %d for %d numbers", t, len(data), want, len(x))
	}
	if err != nil {
		return err
	}
	k, _ := t.kind()
	for i, at := 0, 0; i < len(x); i, at = i+k.numbers, at+k.bytes {
		k.decode(x[i:i+k.numbers], data[at:at+k.bytes])
	}
	return nil
}
