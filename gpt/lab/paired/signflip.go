package paired

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	exactSeeds = 16      // up to this number of seeds all signs are tried
	signDraws  = 100_000 // beyond it, as many are drawn
)

// signFlip returns the two-sided p of the permutation of signs: the share of all 2ⁿ choices of signs of d whose sum is
// at least as far from 0 as the sum of d. Equal sums differ in rounding, so the sum of d is lowered by 1e-12 of Σ|d|.
func signFlip(d []float64, draws uint64) float64 {
	sum, size := 0.0, 0.0
	for _, x := range d {
		sum += x
		size += math.Abs(x)
	}
	bound := math.Abs(sum) - 1e-12*size
	switch {
	case bound <= 0:
		return 1
	case len(d) > exactSeeds:
		return drawnSigns(d, bound, draws)
	}
	// A sum is one of the first half plus one of the second. As many sums are below −bound as above bound.
	half := len(d) / 2
	first, second := signedSums(d[:half]), signedSums(d[half:])
	slices.Sort(second)
	above := 0
	for _, x := range first {
		i, _ := slices.BinarySearch(second, bound-x)
		above += len(second) - i
	}
	return 2 * float64(above) / float64(len(first)*len(second))
}

// signedSums returns the sums of d with every choice of signs.
func signedSums(d []float64) []float64 {
	sums := []float64{0}
	for _, x := range d {
		for i, s := range sums {
			sums[i] = s + x
			sums = append(sums, s-x)
		}
	}
	return sums
}

// drawnSigns estimates the p of signFlip. The choice of no sign at all counts as a draw, so the estimate is never 0.
func drawnSigns(d []float64, bound float64, draws uint64) float64 {
	random := rand.NewPCG(draws, uint64(len(d)))
	count := 1
	for range signDraws {
		sum, bits := 0.0, uint64(0)
		for i, x := range d {
			if i%64 == 0 {
				bits = random.Uint64()
			}
			if bits&1 == 0 {
				x = -x
			}
			sum += x
			bits >>= 1
		}
		if math.Abs(sum) >= bound {
			count++
		}
	}
	return float64(count) / (1 + signDraws)
}
