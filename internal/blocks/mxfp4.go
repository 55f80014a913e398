package blocks

import "math"

// fours are the numbers of 4 bits: a sign, 2 bits of exponent, 1 of fraction (E2M1).
var fours = [16]float32{
	0, 0.5, 1, 1.5, 2, 3, 4, 6, float32(math.Copysign(0, -1)), -0.5, -1, -1.5, -2, -3, -4, -6,
}

// Power returns 2^(e−127), the common factor of a block of MXFP4 (Open Compute Project 2023, Microscaling Formats 1.0,
// section 5.4.1: E8M0). 255 stands for NaN.
func Power(e byte) float32 {
	if e == 255 {
		return float32(math.NaN())
	}
	return float32(math.Ldexp(1, int(e)-127))
}

// FourBits sets x to the numbers power·v, of which the first of two adjacent ones is in the lower half of a byte, as in
// published files of safetensors. There are half as many bytes as numbers.
func FourBits(x []float32, bytes []byte, power float32) {
	for i, b := range bytes[:len(x)/2] {
		x[2*i], x[2*i+1] = power*fours[b&15], power*fours[b>>4]
	}
}

// decodeMXFP4: e and 16 bytes, the lower halves of which are numbers 0 … 15, the upper ones 16 … 31.
func decodeMXFP4(x []float32, b []byte) {
	power := Power(b[0])
	for i, n := range b[1:17] {
		x[i], x[i+16] = power*fours[n&15], power*fours[n>>4]
	}
}
