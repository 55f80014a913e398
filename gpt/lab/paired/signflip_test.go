package paired

import (
	"math"
	"math/rand/v2"
	"testing"
)

// brute counts the choices of signs whose sum is at least as far from 0, in integers.
func brute(d []int) float64 {
	abs := func(x int) int { return max(x, -x) }
	sum, count := 0, 0
	for _, x := range d {
		sum += x
	}
	for signs := range 1 << len(d) {
		s := 0
		for i, x := range d {
			s += x * (1 - signs>>i&1*2)
		}
		if abs(s) >= abs(sum) {
			count++
		}
	}
	return float64(count) / float64(int(1)<<len(d))
}

// The examples are counted by hand: of 3 ± 1 ± 2 and their negatives, 6 and 4 are at least 3 − 1 + 2 = 4.
func TestSignFlipByHand(t *testing.T) {
	for _, v := range []struct {
		d    []float64
		want float64
	}{
		{[]float64{1, 2, 3}, 2. / 8}, {[]float64{3, -1, 2}, 4. / 8}, {[]float64{1, -1}, 1}, {[]float64{0, 0, 0}, 1},
		{[]float64{1, 1, 1, -1}, 10. / 16}, {[]float64{-4, 0}, 1}, {[]float64{2, 1}, 2. / 4},
	} {
		if got := signFlip(v.d, 1); got != v.want {
			t.Errorf("%v: got %g, want %g", v.d, got, v.want)
		}
	}
}

// Tenths have many equal sums that differ in rounding: the count is the count for integers.
func TestSignFlipIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 2; n <= exactSeeds; n++ {
		for range 3 {
			whole, tenths, tiny := make([]int, n), make([]float64, n), make([]float64, n)
			for i := range whole {
				whole[i] = r.IntN(23) - 9
				tenths[i] = float64(whole[i]) * 0.1
				tiny[i] = tenths[i] * 1e-20
			}
			want := brute(whole)
			if got, least := signFlip(tenths, 1), signFlip(tiny, 1); got != want || least != want {
				t.Errorf("%v: got %g and, times 1e-20, %g, want %g", whole, got, least, want)
			}
		}
	}
}

// Beyond 16 seeds the draws agree with the count, follow from their number, and never give 0.
func TestSignFlipDraws(t *testing.T) {
	whole := []int{5, -3, 8, 2, -1, 7, 4, -6, 3, 9, -2, 1, 6, -4, 2, 5, 3, -7}
	d, apart := make([]float64, len(whole)), make([]float64, 70)
	for i, x := range whole {
		d[i] = float64(x) * 0.1
	}
	got, want := signFlip(d, 7), brute(whole)
	if sigma := math.Sqrt(want * (1 - want) / signDraws); !(math.Abs(got-want) <= 4*sigma) {
		t.Errorf("got %g, want %g ± %g", got, want, 4*sigma)
	}
	if again, other := signFlip(d, 7), signFlip(d, 8); again != got || other == got {
		t.Errorf("got %g again and %g of other draws, want %g and another", again, other, got)
	}
	for i := range apart {
		apart[i] = 1 + float64(i)
	}
	if got := signFlip(apart, 1); got != 1./(1+signDraws) {
		t.Errorf("got %g, want 1/100001", got)
	}
	// The signs of the first and the 65th difference are drawn apart, and those beyond are drawn at all.
	ends := make([]float64, 65)
	ends[0], ends[64] = 1, 1
	if got := signFlip(ends, 1); !(math.Abs(got-0.5) < 0.01) {
		t.Errorf("got %g, want about 0.5", got)
	}
	late := append(make([]float64, 64), 1, 2, 4, 8, 16, 32)
	if got, want := signFlip(late, 1), 2./64; !(math.Abs(got-want) < 0.003) {
		t.Errorf("got %g, want about %g", got, want)
	}
}
