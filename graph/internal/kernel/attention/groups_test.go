package attention

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestGroups: heads that share keys and values give the same as heads with equal ones of their own, and the gradients
// of these add up. This also holds under masks that hide a block of keys from the first head of a group and not from
// its last, or vice versa.
func TestGroups(t *testing.T) {
	perHead := masking{
		"fewer keys from head to head", false, true,
		func(n, b, head, i, j int) float64 { return hideIf(j > i || j > 40*(5-head)) },
	}
	for c, m := range append(maskings[:len(maskings):len(maskings)], perHead) {
		if os.Getenv("NIGHTLY") == "" && c%3 > 0 {
			continue
		}
		for _, h := range []Shape{
			self(2, 70, 6, 5, 7).in(3), self(1, 33, 6, 8, 3).in(2), self(2, 130, 6, 3, 4).in(1),
			shape(2, 31, 66, 4, 5, 7, 2),
		} {
			t.Run(fmt.Sprintf("%+v/%s", h, m.name), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(c), 5))
				x := kerneltest.Random[float64](rng, h.numbers())
				dy := kerneltest.Random[float64](rng, h.Batch*h.Queries*h.Heads*h.V)
				own := h.in(h.Heads)
				from := h.repeated()
				all := make([]float64, own.numbers())
				for i := range all {
					all[i] = x[from[i]]
				}
				drop := kernel.DropMask{P: 0.3 * float64(c%2), Key: 5, Step: 2}
				y, d := runAttention[float64](kernel.NewPool(2), h, x, m.mask(h), dy, drop)
				want, dall := runAttention[float64](kernel.NewPool(2), own, all, m.mask(own), dy, drop)
				if !kerneltest.SameBits(y, want) {
					t.Error("the results differ")
				}
				dwant := make([]float64, len(x))
				for i, v := range dall {
					dwant[from[i]] += v
				}
				compareTo(t, "gradient", d, dwant, 1e-13)
			})
		}
	}
}

// repeated returns the source of every number for heads with their own keys and values: packed, or queries before the
// rest.
func (h Shape) repeated() (from []int) {
	at := 0
	row := func(groups, size int) { // each group for every head that shares it
		for j := range h.Heads {
			for i := range size {
				from = append(from, at+j*groups/h.Heads*size+i)
			}
		}
		at += groups * size
	}
	queries := func() { row(h.Heads, h.QK) }
	rest := func() { row(h.Groups, h.QK); row(h.Groups, h.V) }
	if h.Queries == h.Keys {
		for range h.Batch * h.Keys {
			queries()
			rest()
		}
		return from
	}
	for range h.Batch * h.Queries {
		queries()
	}
	for range h.Batch * h.Keys {
		rest()
	}
	return from
}
