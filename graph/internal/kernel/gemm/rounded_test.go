package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/fma"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// eachRoad runs a test with VDPBF16PS, if this processor has it, and without, in each instruction set.
func eachRoad(t *testing.T, test func(t *testing.T)) {
	defer road(hasPairs())()
	if hasPairs() {
		t.Run(Rounded{}.String(), test)
	}
	road(false)
	eachSet(func(set string) { t.Run(Rounded{}.String()+" "+set, test) })
}

// road lets products use VDPBF16PS or not, and returns a function that restores the choice.
func road(usePairs bool) (restore func()) {
	chosen := pairs
	pairs = func() bool { return usePairs }
	return func() { pairs = chosen }
}

// TestRounded: the product of rounded operands, with the error of sums of float32, at odd sizes, in every form.
func TestRounded(t *testing.T) {
	sizes := []int{1, 2, 3, 17, 31, 65, 97, 130}
	eachRoad(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for c := range 32 {
			m, n, k := sizes[rng.IntN(len(sizes))], sizes[rng.IntN(len(sizes))], sizes[rng.IntN(len(sizes))]
			if c >= 28 { // several blocks
				m, n, k = []int{779, 5, 3, 193}[c-28], []int{7, 391, 5, 97}[c-28], []int{3, 9, 601, 193}[c-28]
			}
			a, b := randomMatrix[float32](rng, m, k, c&1 == 0), randomMatrix[float32](rng, k, n, c&2 == 0)
			before := randomMatrix[float32](rng, m, n, false)
			alpha, beta := []float32{1, -0.7}[rng.IntN(2)], []float32{0, 1, 0.5}[rng.IntN(3)]
			if beta == 0 { // earlier numbers must not matter
				before.Data[rng.IntN(n)] = float32(math.NaN())
			}
			got := Mat(slices.Clone(before.Data), before.Stride)
			Rounded{}.MulSerial(m, n, k, alpha, a, b, beta, got)
			checkGemm(t, m, n, k, alpha, bfloat16Of(a), bfloat16Of(b), beta, before, got)
			for _, threads := range []int{1, 2, 8} {
				again := slices.Clone(before.Data)
				Rounded{}.Mul(kernel.NewPool(threads), m, n, k, alpha, a, b, beta, Mat(again, before.Stride))
				if !kerneltest.SameBits(again, got.Data) {
					t.Errorf("%dx%dx%d, %d threads: other bits than in series", m, n, k, threads)
				}
			}
		}
	})
}

// bfloat16Of returns m rounded, computed with float64 and its exponent.
func bfloat16Of(m Matrix[float32]) Matrix[float32] {
	m.Data = slices.Clone(m.Data)
	for i, x := range m.Data {
		fraction, exponent := math.Frexp(float64(x))
		m.Data[i] = float32(math.Ldexp(math.RoundToEven(math.Ldexp(fraction, 8)), exponent-8))
	}
	return m
}

// TestRoundedAdd: a bias is added to every row, another matrix to its own.
func TestRoundedAdd(t *testing.T) {
	eachRoad(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		const m, n, k = 101, 67, 300
		a, b := randomMatrix[float32](rng, m, k, false), randomMatrix[float32](rng, k, n, true)
		d := randomMatrix[float32](rng, m, n, false)
		for _, stride := range []int{0, d.Stride} {
			d.Stride = stride
			want, got := make([]float32, m*n), make([]float32, m*n)
			for i := range m {
				copy(want[i*n:(i+1)*n], d.Data[i*stride:])
			}
			Rounded{}.MulSerial(m, n, k, 1, a, b, 1, Mat(want, n))
			Rounded{}.MulAdd(kernel.NewPool(2), m, n, k, 1, a, b, d, Mat(got, n))
			if !kerneltest.SameBits(got, want) {
				t.Errorf("stride %d: other bits", stride)
			}
		}
	})
}

// TestRoundedScales: on several threads too, c is scaled once, and earlier numbers count only if beta is not 0. Without
// rows there is nothing to do.
func TestRoundedScales(t *testing.T) {
	eachRoad(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 5))
		const m, n, k = 101, 67, 300
		a, b := randomMatrix[float32](rng, m, k, false), randomMatrix[float32](rng, k, n, true)
		before := randomMatrix[float32](rng, m, n, false)
		for _, beta := range []float32{0, 1, 0.5} {
			if beta == 0 {
				before.Data[rng.IntN(n)] = float32(math.NaN())
			} else {
				before.Data = kerneltest.Random[float32](rng, len(before.Data))
			}
			for _, threads := range []int{1, 2} {
				got := Mat(slices.Clone(before.Data), before.Stride)
				Rounded{}.Mul(kernel.NewPool(threads), m, n, k, 0.7, a, b, beta, got)
				checkGemm(t, m, n, k, 0.7, bfloat16Of(a), bfloat16Of(b), beta, before, got)
			}
		}
		Rounded{}.Mul(
			kernel.NewPool(2), 0, n, 10*k, 1, Mat[float32](nil, 10*k), Mat(make([]float32, 10*k*n), n), 0,
			Mat[float32](nil, n),
		)
	})
}

// TestRoundingCopies: a copy has the numbers asked for, rounded, and nothing after them is written, also if the matrix
// goes on.
func TestRoundingCopies(t *testing.T) {
	const rows, cols = 3, 19
	rng := rand.New(rand.NewPCG(8, 9))
	for _, stride := range []int{cols, cols + 2} {
		for _, trans := range []bool{false, true} {
			m, to := Mat(kerneltest.Random[float32](rng, 9*stride), stride), make([]float32, 9*stride)
			got, want := m, bfloat16Of(m)
			if trans {
				got = rounding(to, m.T(), cols, rows).T()
			} else {
				got = rounding(to, m, rows, cols)
			}
			for i := range rows {
				for j := range cols {
					if got.at(i, j) != want.at(i, j) {
						t.Errorf("(%d, %d): got %v, want %v", i, j, got.at(i, j), want.at(i, j))
					}
				}
			}
			if rest := to[rows*cols:]; slices.ContainsFunc(rest, func(x float32) bool { return x != 0 }) {
				t.Errorf("stride %d: got %v after the copy, want zeros", stride, rest)
			}
		}
	}
}

// TestBfloat16Bits: NaN keeps the upper half of its bits, and 0 and the numbers below the normal ones their sign.
func TestBfloat16Bits(t *testing.T) {
	for x, want := range map[uint32]uint32{
		0x00000000: 0, 0x80000000: 0x80000000, 0x007fffff: 0, 0x807fffff: 0x80000000, 0x00800000: 0x00800000,
		0x80800000: 0x80800000,
		0x7f80ffff: 0x7fc00000, 0xffa1ffff: 0xffe10000, 0x7f800000: 0x7f800000, 0x7f7f7fff: 0x7f7f0000,
		0x7f7f8000: 0x7f800000,
		0x3f808000: 0x3f800000, 0x3f808001: 0x3f810000, 0x3f817fff: 0x3f810000, 0x3f818000: 0x3f820000,
	} {
		if got := math.Float32bits(kernel.RoundBfloat16(math.Float32frombits(x))); got != want {
			t.Errorf("%#08x: got %#08x, want %#08x", x, got, want)
		}
	}
}

// TestRoundedExtremes: a product of one number by 1 is that number rounded, in every position of a pair: NaN stays NaN,
// and ∞ stays ∞; numbers below the normal ones become 0; halves go to the even number, the largest ones to ∞.
func TestRoundedExtremes(t *testing.T) {
	for x, want := range map[float32]float32{
		1 + 0x1p-8: 1, 1 + 0x3p-8: 1 + 0x1p-6, 1 + 0x1p-8 + 0x1p-23: 1 + 0x1p-7, -1 - 0x3p-8: -1 - 0x1p-6,
		math.MaxFloat32: float32(math.Inf(1)), 0x1.fefp127: 0x1.fep127, 0x1p-126: 0x1p-126, 0x1.fffffcp-127: 0,
		-0x1p-140:             0,
		float32(math.Inf(-1)): float32(math.Inf(-1)), float32(math.NaN()): float32(math.NaN()),
		math.Float32frombits(0x7f800001): float32(math.NaN()), math.Float32frombits(0xffffffff): float32(math.NaN()),
	} {
		if got := kernel.RoundBfloat16(x); !kerneltest.SameBits([]float32{got + 0}, []float32{want}) && (got == got ||
			want == want) {
			t.Errorf("%g is rounded to %g, want %g", x, got, want)
		}
		eachRoad(t, func(t *testing.T) {
			for at := range 35 {
				const k, n = 35, 18
				for _, trans := range []bool{false, true} {
					a, b, c := Mat(make([]float32, k), k), Mat(make([]float32, k*n), n), make([]float32, n)
					if trans {
						a, b = Mat(a.Data, 1).T(), Mat(b.Data, k).T()
					}
					a.Data[at], b.From(at, 17).Data[0] = 1, x
					Rounded{}.MulSerial(1, n, k, 1, a, b, 0, Mat(c, n))
					if c[17] != want && (c[17] == c[17] || want == want) || c[16] != 0 {
						t.Fatalf("%g at %d times 1 is %g, want %g", x, at, c[17], want)
					}
				}
			}
		})
	}
}

// TestRoundedOrder: with assembly, the products of an entry are always added one after the other, each rounded once.
func TestRoundedOrder(t *testing.T) {
	const m, n, k = 13, 35, 255
	rng := rand.New(rand.NewPCG(5, 6))
	a, b := randomMatrix[float32](rng, m, k, false), randomMatrix[float32](rng, k, n, false)
	for i := range a.Data { // numbers of all sizes, so that every rounding is visible
		a.Data[i] *= float32(math.Exp(8 * rng.NormFloat64()))
	}
	x, y := bfloat16Of(a), bfloat16Of(b)
	want := make([]float32, m*n)
	for i := range want {
		for l := range k {
			want[i] = fma.Float32(float32(x.at(i/n, l)), float32(y.at(l, i%n)), want[i])
		}
	}
	eachRoad(t, func(t *testing.T) {
		got := make([]float32, m*n)
		Rounded{}.MulSerial(m, n, k, 1, a, b, 0, Mat(got, n))
		if !kerneltest.SameBits(got, want) {
			t.Error("other bits than multiplications and additions rounded once")
		}
	})
}

// BenchmarkRounded reports the fastest call, and the fastest of the same product in float32, alternately: by the way
// that this processor takes, and by rounding.
func BenchmarkRounded(b *testing.B) {
	b.Run(Rounded{}.String(), benchmarkRoad)
	if pairs() {
		defer road(false)()
		b.Run(Rounded{}.String(), benchmarkRoad)
	}
}

func benchmarkRoad(b *testing.B) {
	for _, s := range []struct{ m, k, n int }{
		// GPT on characters
		{768, 128, 384}, {768, 128, 512}, {768, 512, 128}, {768, 128, 65}, {768, 65, 128}, {128, 768, 384},
		{64, 32, 256}, {64, 256, 32}, {128, 64, 32}, {32, 128, 64}, // attention
		{2048, 384, 1536}, {2048, 1536, 384}, {384, 2048, 1536}, {1024, 1024, 1024}, {256, 768, 3072},
		{256, 768, 50257},
		{1, 768, 3072}, {8, 768, 3072}, {32, 768, 3072}, {1, 768, 50257}, // decoding
	} {
		for _, form := range []string{"NN", "NT", "TN"} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("%dx%dx%d/%s/threads=%d", s.m, s.k, s.n, form, threads), func(b *testing.B) {
					benchmarkRounded(b, kernel.NewPool(threads), s.m, s.n, s.k, form)
				})
			}
		}
	}
}

func benchmarkRounded(b *testing.B, p *kernel.Pool, m, n, k int, form string) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := Mat(kerneltest.Random[float32](rng, m*k), k), Mat(kerneltest.Random[float32](rng, k*n), n)
	c := Mat(make([]float32, m*n), n)
	if form[0] == 'T' {
		x = Matrix[float32]{x.Data, m, true}
	}
	if form[1] == 'T' {
		y = Matrix[float32]{y.Data, k, true}
	}
	best := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		for i, products := range []Products[float32]{Exact[float32]{}, Rounded{}} {
			start := time.Now()
			products.Mul(p, m, n, k, 1, x, y, 0, c)
			best[i] = min(best[i], time.Since(start))
		}
	}
	b.ReportMetric(2*float64(m)*float64(n)*float64(k)/best[1].Seconds()*1e-9, "GFLOP/s-best")
	b.ReportMetric(float64(best[0])/float64(best[1]), "times-float32")
}

// TestRoundedChunk: every thread gets some chunks and, if they are few, the same number as the others. No chunk is
// larger than a thread's panels, and the smaller side is cut only if the larger one cannot be.
func TestRoundedChunk(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 6: 2, 7: 3} {
		if got := parts(n, 3); got != want {
			t.Errorf("got %d parts of 3 in %d, want %d", got, n, want)
		}
	}
	for _, s := range [][2]int{
		{1, 1}, {768, 384}, {768, 65}, {384, 128}, {128, 128}, {2048, 1152}, {2048, 384}, {50257, 256}, {50257, 768},
		{385, 97},
	} {
		for _, threads := range []int{2, 3, 8} {
			for unit, rows := range map[int]bool{rowUnit: true, stripUnit: false} {
				size, wide := roundedChunk(s[0], s[1], rows, threads)
				chunks := parts(s[0], size) * parts(s[1], wide)
				uneven := parts(s[0], size) < 8*threads && parts(s[0], size)%threads != 0
				if size > partMost || size%unit != 0 || size > unit && (uneven || wide < s[1]) || wide > 96 &&
					chunks < 2*threads {
					t.Errorf("%v, rows %t, on %d threads: %d chunks of %d × %d", s, rows, threads, chunks, size, wide)
				}
			}
		}
	}
}
