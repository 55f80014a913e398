package kernel

import (
	"math"
	"testing"
)

func dropped(n int, d DropMask) []float64 {
	y := make([]float64, n)
	Dropout(NewPool(2), y, ones[float64](n), d)
	return y
}

// TestDropoutKeepsTheMean: the share of zeros is P within five standard deviations; the others are 1/(1−P).
func TestDropoutKeepsTheMean(t *testing.T) {
	const n = 200_000
	for _, p := range []float64{0.1, 0.2, 0.5, 0.9} {
		zeros := 0
		for i, v := range dropped(n, DropMask{P: p, Key: 17, Step: 3}) {
			switch v {
			case 0:
				zeros++
			case 1 / (1 - p):
			default:
				t.Fatalf("p = %g, entry %d: %v is neither 0 nor %v", p, i, v, 1/(1-p))
			}
		}
		share, sigma := float64(zeros)/n, math.Sqrt(p*(1-p)/n)
		if !(math.Abs(share-p) <= 5*sigma) {
			t.Errorf("p = %g: %v of the entries are dropped", p, share)
		}
	}
}

// TestDropoutMasksAreIndependent: neither adjacent entries nor the masks of two steps or two places agree more often
// than by chance.
func TestDropoutMasksAreIndependent(t *testing.T) {
	const n, p = 100_000, 0.5
	base := dropped(n, DropMask{P: p, Key: 1, Step: 0})
	agree := func(a, b []float64) float64 {
		same := 0
		for i, v := range b {
			if a[i] == v {
				same++
			}
		}
		return float64(same) / float64(len(b))
	}
	for name, other := range map[string][]float64{
		"the next entry": base[1:],
		"row of 64":      base[64:],
		"the next step":  dropped(n, DropMask{P: p, Key: 1, Step: 1}),
		"step 2⁴⁰":       dropped(n, DropMask{P: p, Key: 1, Step: 1 << 40}),
		"another key":    dropped(n, DropMask{P: p, Key: 2, Step: 0}),
	} {
		if share := agree(base, other); !(math.Abs(share-0.5) <= 5*0.5/math.Sqrt(n)) {
			t.Errorf("%s: %v of the entries agree, want a half", name, share)
		}
	}
}

func TestDropoutIsAFunctionOfKeyStepAndEntry(t *testing.T) {
	d := DropMask{P: 0.3, Key: 5, Step: 6}
	long, short := dropped(3*grain, d), dropped(100, d)
	for i, v := range short {
		if v != long[i] || v != d.Factor(i) {
			t.Fatalf("entry %d: %v, %v and %v", i, v, long[i], d.Factor(i))
		}
	}
	for _, v := range dropped(100, DropMask{Key: 5, Step: 6}) {
		if v != 1 {
			t.Fatalf("P = 0 multiplies by %v", v)
		}
	}
}
