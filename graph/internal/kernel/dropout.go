package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// DropMask is the mask of inverted dropout: entry i is dropped with probability P, kept ones are scaled by 1/(1−P). The
// mask is a function of the key, the step and i alone, so the backward pass computes it again instead of storing it,
// and two runs from the same step drop the same entries. P = 0 drops nothing.
type DropMask struct {
	P         float64
	Key, Step uint64
}

// Factor is what entry i is multiplied by: 0 or 1/(1−P).
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

// key is what the counters of a step are mixed with, entryStep the distance of two counters.
func (d DropMask) key() uint64 { return d.Key ^ (d.Step+1)*0x9e3779b97f4a7c15 }

const entryStep = 0xd1342543de82ef95

// DropEntries computes y = x∘mask for the entries from at on.
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

// Dropout computes y = x∘mask; forward and backward are the same.
func Dropout[T Float](p *Pool, y, x []T, d DropMask) {
	p.Range(len(x), grain, func(from, to int) {
		DropEntries(y[from:to], x[from:to], d, from)
	})
}
