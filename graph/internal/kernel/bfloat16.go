package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// Bfloat16 computes y = RoundBfloat16(x) for every number. y may be x.
func Bfloat16(y, x []float32) {
	if fast := simd.Of[float32](); fast != nil {
		fast.Bfloat16(y, x)
		return
	}
	for i, v := range x {
		y[i] = RoundBfloat16(v)
	}
}

// RoundBfloat16 returns the nearest number with 8 significant bits, the even one of two, in the range of float32. NaN
// stays NaN, and numbers below 2⁻¹²⁶ become 0 of the same sign, as in the processors' instructions.
func RoundBfloat16(x float32) float32 {
	const quiet = 1 << 22
	switch bits := math.Float32bits(x); {
	case x != x:
		return math.Float32frombits((bits | quiet) &^ 0xffff)
	case bits&^(1<<31) < 1<<23:
		return math.Float32frombits(bits & (1 << 31))
	default:
		return math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
	}
}
