package blocks

import (
	"encoding/binary"
	"math"

	"github.com/pkg/errors"
)

// Writable lists the types that Encode writes.
func Writable() []Type { return []Type{F32, F16, BF16, Q8_0, Q4_0} }

// Encode appends the blocks of x to data. The distance of a number from x in the result is at most
//
//	F32   0
//	F16   2⁻¹¹·|x| + 2⁻²⁵
//	BF16  2⁻⁸·|x|
//	Q8_0  max|x|/254 + 2⁻¹⁰·max|x| + 2⁻¹⁸, with the largest number of the block
//	Q4_0  max|x|/8 + 2⁻¹⁰·max|x| + 2⁻²¹
//
// Numbers that are not finite, or that are too large for the type, are errors, and so is a type that is not Writable.
func (t Type) Encode(data []byte, x []float32) ([]byte, error) {
	if _, err := t.Bytes(len(x)); err != nil {
		return data, err
	}
	var encode func(data []byte, x []float32) ([]byte, bool)
	switch t {
	case F32:
		encode = encodeF32
	case F16:
		encode = encodeF16
	case BF16:
		encode = encodeBF16
	case Q8_0:
		encode = encodeQ8_0
	case Q4_0:
		encode = encodeQ4_0
	default:
		return data, errors.Errorf("type: got %s, want one of %v", t, Writable())
	}
	size, _ := t.Block()
	for i := 0; i < len(x); i += size {
		var ok bool
		if data, ok = encode(data, x[i:i+size]); !ok {
			return data, errors.Errorf("%s: number %d of %v: not finite, or too large for the type", t, i, x[i:i+size])
		}
	}
	return data, nil
}

func encodeF32(data []byte, x []float32) ([]byte, bool) {
	bits := math.Float32bits(x[0])
	return binary.LittleEndian.AppendUint32(data, bits), bits>>23&255 != 255
}

func encodeF16(data []byte, x []float32) ([]byte, bool) {
	h := ToHalf(x[0])
	return binary.LittleEndian.AppendUint16(data, h), h>>10&31 != 31
}

func encodeBF16(data []byte, x []float32) ([]byte, bool) {
	h := ToBF16(x[0])
	return binary.LittleEndian.AppendUint16(data, h), h>>7&255 != 255
}

// scaled appends the scale of a block, peak/steps rounded to binary16, and returns its value and inverse; the inverse
// of 0 is 0.
func scaled(data []byte, peak, steps float32) (_ []byte, inverse float64, ok bool) {
	h := ToHalf(peak / steps)
	d := Half(h)
	if d != 0 {
		inverse = 1 / float64(d)
	}
	return binary.LittleEndian.AppendUint16(data, h), inverse, h>>10&31 != 31
}

// largest returns the number of x with the largest size. It is NaN if there is one.
func largest(x []float32) (peak float32) {
	for _, v := range x {
		if v != v {
			return v
		}
		if math.Abs(float64(v)) > math.Abs(float64(peak)) {
			peak = v
		}
	}
	return peak
}

// encodeQ8_0: d = max|x|/127 and n = x/d, rounded to the nearest.
func encodeQ8_0(data []byte, x []float32) ([]byte, bool) {
	data, inverse, ok := scaled(data, float32(math.Abs(float64(largest(x)))), 127)
	for _, v := range x {
		data = append(data, byte(int8(nearest(v, inverse, -127, 127))))
	}
	return data, ok
}

// encodeQ4_0: d = x/−8 of the number x with the largest size, which n = 0 represents, and n = x/d + 8, rounded to the
// nearest.
func encodeQ4_0(data []byte, x []float32) ([]byte, bool) {
	data, inverse, ok := scaled(data, largest(x), -8)
	for i := range 16 {
		low, high := nearest(x[i], inverse, -8, 7)+8, nearest(x[i+16], inverse, -8, 7)+8
		data = append(data, byte(low)|byte(high)<<4)
	}
	return data, ok
}

// nearest returns the whole number from least to most nearest to x·inverse.
func nearest(x float32, inverse, least, most float64) int {
	return int(max(least, min(most, math.RoundToEven(float64(x)*inverse))))
}
