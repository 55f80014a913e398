package recurrent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// scanCase holds the operands of a scan.
type scanCase[T kernel.Float] struct {
	Entrywise
	b, c, dh []T
}

func newScanCase(seed uint64, sequences, tokens, width int, gate func(rng *rand.Rand) float64) scanCase[float64] {
	rng := rand.New(rand.NewPCG(seed, seed))
	n := sequences * tokens * width
	s := scanCase[float64]{
		Entrywise{tokens, width, seed%2 == 1}, kerneltest.Random[float64](rng, n), make([]float64, n),
		kerneltest.Random[float64](rng, n),
	}
	for i := range s.c {
		s.c[i] = gate(rng) - 1
	}
	return s
}

// rounded returns the case in another type, and the case with the rounded numbers.
func rounded(s scanCase[float64]) (scanCase[float32], scanCase[float64]) {
	of := scanCase[float32]{
		s.Entrywise, kerneltest.Rounded[float32](s.b), kerneltest.Rounded[float32](s.c),
		kerneltest.Rounded[float32](s.dh),
	}
	return of, scanCase[float64]{s.Entrywise, widened(of.b), widened(of.c), widened(of.dh)}
}

func widened(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// run returns h, db and dc.
func (s scanCase[T]) run(threads int) [3][]T {
	p, n := kernel.NewPool(threads), len(s.b)
	out := [3][]T{make([]T, n), make([]T, n), make([]T, n)}
	Scan(p, s.Entrywise, out[0], s.b, s.c, nil)
	ScanBackward(p, s.Entrywise, out[1], out[2], s.dh, out[0], s.b, s.c)
	return out
}

func open(rng *rand.Rand) float64 { return rng.Float64() }

// TestScan compares the passes with the equations, for several sequences, one token, and widths of whole blocks and
// others.
func TestScan(t *testing.T) {
	for _, d := range [][3]int{{1, 1, 1}, {3, 5, 7}, {2, 9, 128}, {2, 4, 131}} {
		for seed := range uint64(2) { // sums, and averages
			s := newScanCase(seed, d[0], d[1], d[2], open)
			got, w := s.run(2), d[2]
			h, db, dc := make([]float64, len(s.b)), make([]float64, len(s.b)), make([]float64, len(s.b))
			add := slices.Clone(s.b)
			for i := range h {
				if s.Average {
					add[i] *= -s.c[i]
				}
				if h[i] = add[i]; i/w%d[1] > 0 {
					h[i] += (1 + s.c[i]) * h[i-w]
				}
			}
			for i := len(h) - 1; i >= 0; i-- {
				if db[i] = s.dh[i]; i/w%d[1] < d[1]-1 {
					db[i] += (1 + s.c[i+w]) * db[i+w]
				}
				if i/w%d[1] > 0 {
					dc[i] = db[i] * h[i-w]
				}
			}
			if s.Average {
				for i, c := range s.c {
					dc[i] -= db[i] * s.b[i]
					db[i] *= -c
				}
			}
			for k, want := range [][]float64{h, db, dc} {
				for i, v := range want {
					if !(math.Abs(got[k][i]-v) <= 1e-14*max(1, math.Abs(v))) {
						t.Fatalf(
							"%v, average %t: result %d, entry %d: got %v, want %v", d, s.Average, k, i, got[k][i], v,
						)
					}
				}
			}
			ScanBackward(kernel.NewPool(1), s.Entrywise, db, nil, s.dh, h, s.b, s.c)
		}
	}
}

// TestScanVectorsEqualPlainGo: for widths within, of and above a block of 16 and of 128, also for numbers that are not
// finite.
func TestScanVectorsEqualPlainGo(t *testing.T) {
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		for _, width := range []int{1, 7, 15, 16, 17, 37, 128, 141} {
			for seed := range uint64(4) {
				s, _ := rounded(newScanCase(seed, 2, 6, width, open))
				if seed > 1 {
					s.b[0], s.c[len(s.c)/2], s.dh[len(s.dh)-1] = float32(math.Inf(1)), -1, float32(math.Inf(-1))
				}
				got := s.run(1)
				undo := simd.Use(nil)
				want := s.run(1)
				undo()
				for i := range want {
					for j, w := range want[i] { // the sign of a NaN may differ
						if g := got[i][j]; math.Float32bits(g) != math.Float32bits(w) && !(g != g && w != w) {
							t.Fatalf(
								"width %d, average %t, result %d, entry %d: got %v, want %v", width, s.Average, i, j, g,
								w,
							)
						}
					}
				}
			}
		}
	})
}

// TestScanOnAnyThreads: the same bits on one thread and on many.
func TestScanOnAnyThreads(t *testing.T) {
	s, _ := rounded(newScanCase(4, 7, 30, 150, open))
	want := s.run(1)
	for _, threads := range []int{2, 5} {
		for i, got := range s.run(threads) {
			if !slices.Equal(got, want[i]) {
				t.Errorf("%d threads: other bits than one thread in result %d", threads, i)
			}
		}
	}
}

// TestScanContinues: from the state after some tokens, in pieces of several lengths, the results have the same bits.
func TestScanContinues(t *testing.T) {
	s, _ := rounded(newScanCase(5, 1, 23, 19, func(rng *rand.Rand) float64 { return 1 - 1e-6*rng.Float64() }))
	want, p := s.run(1)[0], kernel.NewPool(1)
	got, state := make([]float32, len(want)), make([]float32, 2*s.Width)
	for from, n := 0, 1; from < s.Tokens; from, n = from+n, n+1 {
		n = min(n, s.Tokens-from)
		l, at, to := Entrywise{n, s.Width, s.Average}, from*s.Width, (from+n)*s.Width
		Scan(p, l, got[at:to], s.b[at:to], s.c[at:to], state)
	}
	if !slices.Equal(got, want) {
		t.Error("other bits in pieces than at once")
	}
}

// TestScanEnds: over 10,000 tokens, with gates of 0, near 0, near 1 and of 1, float32 is finite and within 1e-6 of
// float64 on the same numbers, relative to the largest state of a feature.
func TestScanEnds(t *testing.T) {
	for name, gate := range map[string]func(rng *rand.Rand) float64{
		"0":              func(*rand.Rand) float64 { return 0 },
		"near 0":         func(rng *rand.Rand) float64 { return 1e-30 * rng.Float64() },
		"near 1":         func(rng *rand.Rand) float64 { return 1 - 1e-5*rng.Float64() },
		"1":              func(*rand.Rand) float64 { return 1 },
		"at either end":  func(rng *rand.Rand) float64 { return float64(rng.IntN(2)) },
		"anything else":  open,
		"barely below 1": func(rng *rand.Rand) float64 { return 1 - 1e-12*rng.Float64() },
	} {
		for seed := range uint64(2) { // sums, and averages
			scanEnds(t, name, newScanCase(seed, 1, 10_000, 17, gate))
		}
	}
}

func scanEnds(t *testing.T, name string, of scanCase[float64]) {
	t.Helper()
	s, exact := rounded(of)
	got, want := s.run(2), exact.run(1)
	for k := range got {
		var largest [17]float64
		for i, v := range want[k] {
			largest[i%17] = max(largest[i%17], math.Abs(v))
		}
		for i, v := range want[k] {
			if !(math.Abs(float64(got[k][i])-v) <= 1e-6*largest[i%17]) {
				t.Fatalf(
					"gates of %s, average %t: result %d, entry %d: got %v, want %v", name, s.Average, k, i, got[k][i],
					v,
				)
			}
		}
	}
}

// TestScanBlocks: no block of features is empty.
func TestScanBlocks(t *testing.T) {
	for width, want := range map[int]int{1: 1, lanes - 1: 1, lanes: 1, lanes + 1: 2, 2 * lanes: 2} {
		if got := (Entrywise{Tokens: 1, Width: width}).blocks(); got != want {
			t.Errorf("%d features: got %d blocks, want %d", width, got, want)
		}
	}
}
