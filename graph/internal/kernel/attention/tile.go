package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// softmaxTile computes one step of the online softmax in every row of a tile x (len(top), cols) of scores. With m the
// largest score of the row so far, in top, and ℓ = Σ e^(score − m), in total,
//
//	m' = max(m, max x)    ℓ' = ℓ·e^(m−m') + Σ e^(x−m')    x ← e^(x−m')/ℓ'    keep = e^(m−m')·ℓ/ℓ'
//
// keep is the factor for the result so far. (Printed, the exponent has the other sign: errata X1.) m begins as the
// least finite number rather than as −∞, so that a row of −∞ gives 0 and changes nothing (errata X1). ℓ is 0 or, as the
// largest score counts 1, at least that. The mask is optional and is added first; its rows lie stride apart.
//
// The factor keep needs e^(x−m)·e^(m−m') = e^(x−m'). The formula by hand, hand.Partial, has this law on the exact road
// for maxima m and m'.
func softmaxTile[T kernel.Float](x, mask, top, total, keep []T, cols, stride int) {
	if fast := simd.Of[T](); fast != nil {
		fast.SoftmaxTile(simd.Float32s(x), simd.Float32s(mask), simd.Float32s(top), simd.Float32s(total),
			simd.Float32s(keep), cols, stride)
		return
	}
	for i, before := range top {
		x := x[i*cols : (i+1)*cols]
		addMask(x, mask, i*stride)
		m := before
		for _, v := range x {
			m = max(m, v)
		}
		old := total[i] * kernel.Exp(before-m)
		sum := old
		for j, v := range x {
			x[j] = kernel.Exp(v - m)
			sum += x[j]
		}
		share := 1 / max(1, sum)
		for j := range x {
			x[j] *= share
		}
		top[i], total[i], keep[i] = m, sum, old*share
	}
}

// softmaxTileBackward computes the weights p = e^(x + mask − m)/ℓ of a tile x of scores again, in place, and turns
// their gradient d into the gradient of the scores, d ← p∘(d − dot).
func softmaxTileBackward[T kernel.Float](d, x, mask, top, total, dots []T, cols, stride int) {
	if fast := simd.Of[T](); fast != nil {
		fast.SoftmaxTileBackward(simd.Float32s(d), simd.Float32s(x), simd.Float32s(mask), simd.Float32s(top),
			simd.Float32s(total), simd.Float32s(dots), cols, stride)
		return
	}
	for i, m := range top {
		x, d := x[i*cols:(i+1)*cols], d[i*cols:(i+1)*cols]
		addMask(x, mask, i*stride)
		share := 1 / max(1, total[i])
		for j, v := range x {
			x[j] = kernel.Exp(v-m) * share
			d[j] = x[j] * (d[j] - dots[i])
		}
	}
}

// addMask adds the part of the mask that begins at index at, unless the mask is nil.
func addMask[T kernel.Float](x, mask []T, at int) {
	if mask == nil {
		return
	}
	hidden := T(math.Inf(-1))
	for j, v := range mask[at : at+len(x)] {
		if x[j] += v; v == hidden {
			x[j] = v // even if the score is NaN or ∞
		}
	}
}

// lowest returns the least finite number.
func lowest[T kernel.Float]() T {
	if _, ok := any(T(0)).(float32); ok {
		return -math.MaxFloat32
	}
	least := -math.MaxFloat64
	return T(least)
}
