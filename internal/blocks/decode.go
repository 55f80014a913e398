package blocks

import (
	"encoding/binary"
	"math"
)

func word(b []byte) uint16    { return binary.LittleEndian.Uint16(b) }
func half(b []byte) float32   { return Half(word(b)) }
func long(b []byte) uint32    { return binary.LittleEndian.Uint32(b) }
func bit(n uint32, i int) int { return int(n>>i) & 1 }

func decodeF32(x []float32, b []byte)  { x[0] = math.Float32frombits(long(b)) }
func decodeF16(x []float32, b []byte)  { x[0] = half(b) }
func decodeBF16(x []float32, b []byte) { x[0] = math.Float32frombits(uint32(word(b)) << 16) }

// decodeQ4_0: d and 16 bytes, the lower halves of which are numbers 0 … 15, the upper ones 16 … 31.
func decodeQ4_0(x []float32, b []byte) {
	d := half(b)
	for i, n := range b[2:18] {
		x[i], x[i+16] = d*float32(int(n&15)-8), d*float32(int(n>>4)-8)
	}
}

// decodeQ4_1: d, m and 16 bytes as in Q4_0.
func decodeQ4_1(x []float32, b []byte) {
	d, m := half(b), half(b[2:])
	for i, n := range b[4:20] {
		x[i], x[i+16] = float32(d*float32(n&15))+m, float32(d*float32(n>>4))+m
	}
}

// decodeQ5_0: d, 32 fifth bits, and 16 bytes as in Q4_0.
func decodeQ5_0(x []float32, b []byte) {
	d, fifth := half(b), long(b[2:])
	for i, n := range b[6:22] {
		x[i] = d * float32(int(n&15)+bit(fifth, i)<<4-16)
		x[i+16] = d * float32(int(n>>4)+bit(fifth, i+16)<<4-16)
	}
}

// decodeQ5_1: d, m, 32 fifth bits, and 16 bytes as in Q4_0.
func decodeQ5_1(x []float32, b []byte) {
	d, m, fifth := half(b), half(b[2:]), long(b[4:])
	for i, n := range b[8:24] {
		x[i] = float32(d*float32(int(n&15)+bit(fifth, i)<<4)) + m
		x[i+16] = float32(d*float32(int(n>>4)+bit(fifth, i+16)<<4)) + m
	}
}

// decodeQ8_0: d and 32 signed bytes.
func decodeQ8_0(x []float32, b []byte) {
	d := half(b)
	for i, n := range b[2:34] {
		x[i] = d * float32(int8(n))
	}
}
