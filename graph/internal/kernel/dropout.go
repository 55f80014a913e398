package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// DropMask is the mask of inverted dropout: entry i is dropped with probability P, kept ones are scaled by 1/(1−P). The
// mask depends on the key, the step and i only. The backward pass therefore computes it again instead of storing it,
// and two runs from the same step drop the same entries. P = 0 drops nothing.
type DropMask struct {
	P         float64
	Key, Step uint64
}

// Factor returns the factor of entry i: 0 or 1/(1−P).
func (d DropMask) Factor(i int) float64 {
	if d.P == 0 {
		return 1
	}
	// splitmix64's finaliser: every bit of the counter reaches every bit of the result.
	z := d.key() ^ uint64(i)*entryStep
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	if float64(z>>11)*0x1p-53 < d.P {
		return 0
	}
	return 1 / (1 - d.P)
}

// key returns the number with which the counters of a step are mixed.
func (d DropMask) key() uint64 { return d.Key ^ (d.Step+1)*0x9e3779b97f4a7c15 }

const entryStep = 0xd1342543de82ef95 // the difference between the counters of adjacent entries

// DropEntries computes y = x∘mask, where x begins at entry at of the mask.
func DropEntries[T Float](y, x []T, d DropMask, at int) {
	y = y[:len(x)]
	if fast := simd.Of[T](); fast != nil {
		threshold := uint64(math.Ceil(d.P * 0x1p53))
		fast.Dropout(simd.Float32s(y), simd.Float32s(x), d.key(), uint64(at)*entryStep, threshold, float32(1/(1-d.P)))
		return
	}
	for i, v := range x {
		y[i] = v * T(d.Factor(at+i))
	}
}

// Dropout computes y = x∘mask. The backward pass is the same operation.
func Dropout[T Float](p *Pool, y, x []T, d DropMask) {
	p.Range(len(x), grain, func(from, to int) {
		DropEntries(y[from:to], x[from:to], d, from)
	})
}
