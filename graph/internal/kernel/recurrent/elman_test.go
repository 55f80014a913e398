package recurrent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestElman compares values with the recurrence written out, and gradients with central differences of it.
func TestElman(t *testing.T) {
	const batch, n, d, h = 3, 5, 4, 1e-6
	rng := rand.New(rand.NewPCG(5, 5))
	a, w := kerneltest.Random[float64](rng, batch*n*d), kerneltest.Random[float64](rng, d*d)
	first, dh := kerneltest.Random[float64](rng, batch*d), kerneltest.Random[float64](rng, batch*n*d)
	states := func(first []float64) []float64 {
		y := make([]float64, batch*n*d)
		for b := range batch {
			for t := range n {
				for j := range d {
					sum := a[(b*n+t)*d+j]
					for k := range d {
						switch {
						case t > 0:
							sum += y[(b*n+t-1)*d+k] * w[k*d+j]
						case first != nil:
							sum += first[b*d+k] * w[k*d+j]
						}
					}
					y[(b*n+t)*d+j] = math.Tanh(sum)
				}
			}
		}
		return y
	}
	p := kernel.NewPool(2)
	for _, first := range [][]float64{nil, first} {
		y := make([]float64, batch*n*d)
		Elman(p, y, a, w, first, batch, d)
		for i, want := range states(first) {
			if !(math.Abs(y[i]-want) <= 1e-15) {
				t.Fatalf("entry %d: got %v, want %v", i, y[i], want)
			}
		}
	}
	y, da, dw := make([]float64, batch*n*d), make([]float64, batch*n*d), make([]float64, d*d)
	Elman(p, y, a, w, nil, batch, d)
	ElmanBackward(p, da, dw, y, w, dh, batch, d)
	for name, c := range map[string][2][]float64{"a": {a, da}, "w": {w, dw}} {
		for i, v := range c[0] {
			var sides [2]float64
			for s, x := range []float64{v - h, v + h} {
				c[0][i] = x
				for j, out := range states(nil) {
					sides[s] += out * dh[j]
				}
			}
			c[0][i] = v
			if want := (sides[1] - sides[0]) / (2 * h); !(math.Abs(c[1][i]-want) <= 1e-7) {
				t.Errorf("∂%s[%d]: got %v, want %v", name, i, c[1][i], want)
			}
		}
	}
	ElmanBackward(p, da, nil, y, w, dh, batch, d)
}

// TestRecurrenceOnAnyThreads: the same bits on one thread and on many.
func TestRecurrenceOnAnyThreads(t *testing.T) {
	const batch, n, d = 17, 9, 150
	rng := rand.New(rand.NewPCG(6, 6))
	a, w := kerneltest.Random[float32](rng, batch*n*d), kerneltest.Random[float32](rng, d*d)
	dh := kerneltest.Random[float32](rng, batch*n*d)
	for i := range w {
		w[i] /= 12
	}
	var want [3][]float32
	for _, threads := range []int{1, 2, 5} {
		p := kernel.NewPool(threads)
		got := [3][]float32{make([]float32, batch*n*d), make([]float32, batch*n*d), make([]float32, d*d)}
		Elman(p, got[0], a, w, nil, batch, d)
		ElmanBackward(p, got[1], got[2], got[0], w, dh, batch, d)
		if want[0] == nil {
			want = got
		}
		for i := range got {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%d threads: other bits than one thread in result %d", threads, i)
			}
		}
	}
}

// TestElmanFloat32: for any number of sequences, and for widths of the vector units and others, the result is near that
// of float64.
func TestElmanFloat32(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	p := kernel.NewPool(2)
	for _, batch := range []int{1, 2, 13} {
		for _, d := range []int{1, 5, 16, 48} {
			n := 7
			a, w := kerneltest.Random[float64](rng, batch*n*d), kerneltest.Random[float64](rng, d*d)
			dh := kerneltest.Random[float64](rng, batch*n*d)
			for i := range w {
				w[i] /= float64(d)
			}
			want := [3][]float64{make([]float64, batch*n*d), make([]float64, batch*n*d), make([]float64, d*d)}
			Elman(p, want[0], a, w, nil, batch, d)
			ElmanBackward(p, want[1], want[2], want[0], w, dh, batch, d)
			got := [3][]float32{make([]float32, batch*n*d), make([]float32, batch*n*d), make([]float32, d*d)}
			Elman(p, got[0], kerneltest.Rounded[float32](a), kerneltest.Rounded[float32](w), nil, batch, d)
			ElmanBackward(
				p, got[1], got[2], got[0], kerneltest.Rounded[float32](w), kerneltest.Rounded[float32](dh), batch, d,
			)
			for i := range got {
				for j, v := range want[i] {
					if !(math.Abs(float64(got[i][j])-v) <= 2e-5*math.Max(1, math.Abs(v))) {
						t.Fatalf(
							"%d sequences of %d features, result %d, entry %d: got %v, want %v", batch, d, i, j,
							got[i][j], v,
						)
					}
				}
			}
		}
	}
}

// BenchmarkElman measures a forward and a backward pass with the size of the Shakespeare recipe.
func BenchmarkElman(b *testing.B) {
	const batch, n, d = 12, 64, 128
	rng := rand.New(rand.NewPCG(8, 8))
	p := kernel.NewPool(0)
	a, w := kerneltest.Random[float32](rng, batch*n*d), kerneltest.Random[float32](rng, d*d)
	dh := kerneltest.Random[float32](rng, batch*n*d)
	y, da, dw := make([]float32, batch*n*d), make([]float32, batch*n*d), make([]float32, d*d)
	b.ReportAllocs()
	for b.Loop() {
		Elman(p, y, a, w, nil, batch, d)
		ElmanBackward(p, da, dw, y, w, dh, batch, d)
	}
	b.ReportMetric(batch*n*float64(b.N)/b.Elapsed().Seconds(), "tok/s")
}
