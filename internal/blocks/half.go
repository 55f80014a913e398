package blocks

import "math"

// Half returns the value of an IEEE 754 binary16: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
func Half(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent, fraction := uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // zero and subnormal numbers: fraction · 2⁻²⁴
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 31: // infinity and NaN
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// ToHalf returns the binary16 nearest to x, of two equally near the even one. A number from 65520 on becomes ±∞.
func ToHalf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, size := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case size > 0x7f800000: // NaN
		return sign | 0x7e00
	case size >= 0x477ff000: // 65520
		return sign | 0x7c00
	case size < 0x38800000: // below 2⁻¹⁴: a multiple of 2⁻²⁴
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(size))*(1<<24)))
	}
	size += 1<<12 - 1 + size>>13&1
	return sign | uint16((size-(127-15)<<23)>>13)
}

// ToBF16 returns the bfloat16 nearest to x, of two equally near the even one.
func ToBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&0x7fffffff > 0x7f800000 { // NaN stays one
		return uint16(bits>>16) | 1<<6
	}
	return uint16((bits + 1<<15 - 1 + bits>>16&1) >> 16)
}
