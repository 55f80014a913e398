//go:build amd64 && !nosimd

package gemm

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestRoadsAgree: VDPBF16PS, and rounding with the products of every instruction set, compute the same bits, in any
// parts, and touch nothing after an operand's end.
func TestRoadsAgree(t *testing.T) {
	if !hasPairs() {
		t.Skip("this processor has no VDPBF16PS")
	}
	best := gemmBest
	defer road(true)()
	defer func() { gemmBest = best }()
	rng := rand.New(rand.NewPCG(7, 8))
	cases := 200
	if os.Getenv("NIGHTLY") == "" {
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
		road(true)
		want := run()
		road(false)
		for name, set := range gemmSets() {
			gemmBest = set
			if got := run(); !kerneltest.SameBits(got, want) {
				t.Fatalf(
					"%dx%dx%d a %t b %t alpha %g beta %g: %s has other bits than VDPBF16PS", g.m, g.k, g.n, g.a.Trans,
					g.b.Trans, g.alpha, g.beta, name,
				)
			}
		}
	}
}

// TestPairParts: two kinds of products have the same bits as in the plain way. In the first the smaller operand is
// packed in several turns, along k or along its own side. In the second it is cut, because there are more threads than
// parts of the larger one. Nothing after the end of an operand is touched.
func TestPairParts(t *testing.T) {
	if !hasPairs() {
		t.Skip("this processor has no VDPBF16PS")
	}
	defer road(true)()
	rng := rand.New(rand.NewPCG(9, 10))
	random := func(rows, cols int) Matrix[float32] {
		x := guarded(t, true, rows*cols)
		copy(x, kerneltest.Random[float32](rng, rows*cols))
		return Mat(x, cols)
	}
	for _, s := range [][3]int{
		{35, 41, 8193}, {100, 101, 8193}, {3073, 3079, 2}, {3079, 3073, 2}, {130, 129, 300}, {129, 130, 300},
		{259, 770, 515}, {770, 259, 515}, {770, 772, 300},
	} {
		m, n, k := s[0], s[1], s[2]
		a, b, d := random(m, k), random(n, k).T(), random(m, n)
		want, got := make([]float32, m*n), guarded(t, true, m*n)
		road(false)
		Rounded{}.MulAdd(kernel.NewPool(2), m, n, k, 1, a, b, d, Mat(want, n))
		road(true)
		for _, threads := range []int{1, 2, 8} {
			clear(got)
			Rounded{}.MulAdd(kernel.NewPool(threads), m, n, k, 1, a, b, d, Mat(got, n))
			if !kerneltest.SameBits(got, want) {
				t.Errorf("%dx%dx%d, %d threads: other bits than rounded copies", m, k, n, threads)
			}
		}
	}
}

// TestPairsLookAtLengths: an operand that is too short by a number causes a panic before the assembly runs, not a read
// after its end. Lengths that suffice cause none.
func TestPairsLookAtLengths(t *testing.T) {
	if !hasPairs() {
		t.Skip("this processor has no VDPBF16PS")
	}
	defer road(true)()
	for _, s := range [][3]int{{5, 40, 7}, {3, 96, 1}, {96, 3, 1}, {101, 103, 100}} {
		m, n, k := s[0], s[1], s[2]
		for short := range 5 {
			size := [5]int{m * k, k * n, m * n, m * n}
			size[short]--
			for _, threads := range []int{1, 2} {
				func() {
					defer func() {
						if failed := recover() != nil; failed != (short < 4) {
							t.Errorf("%v, %d threads, operand %d too short: panic %t", s, threads, short, failed)
						}
					}()
					x := [4]Matrix[float32]{}
					for i, cols := range []int{k, n, n, n} {
						x[i] = Mat(make([]float32, size[i]), cols)
					}
					Rounded{}.MulAdd(kernel.NewPool(threads), m, n, k, 1, x[0], x[1], x[2], x[3])
				}()
			}
		}
	}
}
