package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// TestBfloat16EveryUpperHalf: vectors round every upper half of a number's bits, with the lower halves at which the
// rounding changes, to the bits of plain Go, at every place in a vector and also in place.
func TestBfloat16EveryUpperHalf(t *testing.T) {
	lower := []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, rand.Uint32() & 0xffff}
	for name, set := range simd.Sets() {
		x, y := make([]float32, len(lower)*(1<<8)+3), make([]float32, len(lower)*(1<<8)+3)
		for upper := uint32(0); upper < 1<<16; upper += 1 << 8 {
			for i := range x {
				x[i] = math.Float32frombits((upper+uint32(i/len(lower)))<<16 | lower[i%len(lower)])
			}
			set.Bfloat16(y, x)
			for i, v := range x {
				got, want := math.Float32bits(y[i]), math.Float32bits(RoundBfloat16(v))
				if got != want {
					t.Fatalf("%s: %#08x: got %#08x, want %#08x", name, math.Float32bits(v), got, want)
				}
			}
			set.Bfloat16(x, x)
			for i := range x {
				if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
					t.Fatalf("%s: entry %d: other bits in place", name, i)
				}
			}
		}
	}
}
