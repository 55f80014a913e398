//go:build amd64 && !nosimd

package gemm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// hasFMA says whether products are made of multiplications and additions that are rounded once.
func hasFMA() bool { return gemmBest != nil }

// TestRoadsAgree: VDPBF16PS, and rounding with the products of every instruction set, compute the same bits, in any parts,
// and touch nothing behind an operand's end.
func TestRoadsAgree(t *testing.T) {
	if !pairs {
		t.Skip("this processor has no VDPBF16PS")
	}
	best := gemmBest
	defer func() { gemmBest, pairs = best, true }()
	rng := rand.New(rand.NewPCG(7, 8))
	cases := 200
	if testing.Short() {
		cases = 40
	}
	for range cases {
		g := rounded{product: randomProduct(t, rng)}
		before := slices.Clone(g.c.Data)
		run := func() []float32 {
			copy(g.c.Data, before)
			i, j := rng.IntN(g.m+1), rng.IntN(g.n+1)
			for _, rows := range [][2]int{{0, i}, {i, g.m}} {
				g.tile(rows[0], rows[1], 0, j)
				g.tile(rows[0], rows[1], j, g.n)
			}
			return slices.Clone(g.c.Data)
		}
		pairs = true
		want := run()
		pairs = false
		for name, set := range gemmSets() {
			gemmBest = set
			if got := run(); !kerneltest.SameBits(got, want) {
				t.Fatalf("%dx%dx%d a %t b %t alpha %g beta %g: %s has other bits than VDPBF16PS", g.m, g.k, g.n, g.a.Trans, g.b.Trans, g.alpha, g.beta, name)
			}
		}
	}
}
