package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// Softmax turns a row of scores into weights, in place: e^(x + mask − max)/Σ, exactly 0 where the mask is −∞.
func Softmax[T Float](x, mask []T) {
	if fast := simd.Of[T](); fast != nil && len(x) > 0 {
		fast.Softmax(simd.Float32s(x), simd.Float32s(mask[:len(x)]), len(x), 1)
		return
	}
	last := len(x)
	for last > 0 && math.IsInf(float64(mask[last-1]), -1) { // a causal row ends at its diagonal
		last--
	}
	clear(x[last:])
	x = x[:last]
	if last == 0 {
		return
	}
	top := T(math.Inf(-1))
	for j := range x {
		if x[j] += mask[j]; math.IsInf(float64(mask[j]), -1) {
			x[j] = mask[j] // whatever the score is
		}
		top = max(top, x[j])
	}
	var sum T
	for j, v := range x {
		x[j] = Exp(v - top)
		sum += x[j]
	}
	for j := range x {
		x[j] /= sum
	}
}
