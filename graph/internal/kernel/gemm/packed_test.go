package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// packings holds the functions that pack a matrix, with the largest error of a number w in a column whose largest is
// top.
var packings = map[string]struct {
	pack  func(p *kernel.Pool, k, n int, m Matrix[float32]) *Packed
	error func(w, top float64) float64
}{
	// half of the last of 8 bits
	"bf16": {PackBF16, func(w, _ float64) float64 { return 0x1p-8*math.Abs(w) + 0x1p-126 }},
	// half a scale, which is rounded
	"int8": {PackInt8, func(w, top float64) float64 { return top/254*(1+0x1p-20) + 0x1p-24*math.Abs(w) + 0x1p-148 }},
}

// A product has the same bits as the one with the unpacked matrix, for any number of rows and threads and in every
// instruction set. Its distance from float64 is within the rounding of the weights and of the sums.
func TestPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	sizes := []int{1, 2, 63, 64, 65, 129, 197, 300, 515}
	for name, by := range packings {
		for range 24 {
			m, n, k := []int{1, 1, 2, 13}[rng.IntN(4)], sizes[rng.IntN(len(sizes))], sizes[rng.IntN(len(sizes))]
			x, b := kerneltest.Random[float32](rng, m*k), randomMatrix[float32](rng, k, n, rng.IntN(2) == 0)
			bias := kerneltest.Random[float32](rng, n)
			if rng.IntN(2) == 0 {
				bias = nil
			}
			t.Run(fmt.Sprintf("%s %dx%dx%d/%t/%t", name, m, k, n, b.Trans, bias != nil), func(t *testing.T) {
				packed := by.pack(kernel.NewPool(2), k, n, b)
				loose := Mat(make([]float32, k*n), n)
				packed.Unpack(loose)
				top := checkUnpacked(t, packed, b, loose, by.error)
				want := make([]float32, m*n)
				MulAdd(kernel.NewPool(1), m, n, k, 1, Mat(x, k), loose, Matrix[float32]{Data: bias}, Mat(want, n))
				eachSet(func(set string) {
					want := make([]float32, m*n)
					MulAdd(kernel.NewPool(1), m, n, k, 1, Mat(x, k), loose, Matrix[float32]{Data: bias}, Mat(want, n))
					for _, threads := range []int{1, 2, 8} {
						got := slices.Repeat([]float32{float32(math.NaN())}, m*n)
						if MulPacked(
							kernel.NewPool(threads), m, x, packed, bias, got,
						); !kerneltest.SameBits(got, want) {
							t.Fatalf("%s, %d threads: other bits than of the matrix unpacked", set, threads)
						}
					}
				})
				for i := range want {
					exact, tol := 0.0, 0.0
					if bias != nil {
						exact, tol = float64(bias[i%n]), 0x1p-24*math.Abs(float64(bias[i%n]))
					}
					for l := range k {
						x, w := float64(x[i/n*k+l]), b.at(l, i%n)
						exact += x * w
						tol += math.Abs(x) * (by.error(w, top[i%n]) + float64(k+4)*0x1p-24*math.Abs(loose.at(l, i%n)))
					}
					if d := math.Abs(float64(want[i]) - exact); !(d <= tol+0x1p-24*math.Abs(exact)) {
						t.Fatalf("entry %d: got %v, want %v within %v", i, want[i], exact, tol)
					}
				}
			})
		}
	}
}

// checkUnpacked compares every number with the packed one, and columns with it. It returns the largest of each column.
func checkUnpacked(
	t *testing.T, packed *Packed, b, loose Matrix[float32], bound func(w, top float64) float64,
) (top []float64) {
	t.Helper()
	top = make([]float64, packed.N)
	column := make([]float32, packed.K)
	for j := range top {
		for i := range packed.K {
			top[j] = max(top[j], math.Abs(b.at(i, j)))
		}
		packed.Column(column, j)
		for i, got := range column {
			if want := b.at(i, j); float64(got) != loose.at(i, j) ||
				!(math.Abs(float64(got)-want) <= bound(want, top[j])) {
				t.Fatalf(
					"number (%d, %d): got %v and %v, want %v within %v", i, j, got, loose.at(i, j), want,
					bound(want, top[j]),
				)
			}
		}
	}
	return top
}

// Exact numbers stay exact: 0, and for bfloat16 numbers with few bits; the largest of a column of int8 within a
// rounding. Ties go to the even number.
func TestPackedNumbers(t *testing.T) {
	p := kernel.NewPool(1)
	x := []float32{0, 1, -3, 0x1p-126, 0x1p100, 1 + 0x1p-8, 1 + 3*0x1p-8, 1 + 0x1p-8 + 0x1p-20, -1 - 0x1p-9, 0x1p-149}
	want := []float32{0, 1, -3, 0x1p-126, 0x1p100, 1, 1 + 4*0x1p-8, 1 + 2*0x1p-8, -1, 0}
	got := make([]float32, len(x))
	if PackBF16(p, len(x), 1, Mat(x, 1)).Column(got, 0); !slices.Equal(got, want) {
		t.Errorf("bf16: got %v, want %v", got, want)
	}
	x = []float32{0, 127, -127, 63.5, 64.5, 0.4, -0.6, 0x1p-149}
	want = []float32{0, 127, -127, 64, 64, 0, -1, 0}
	got = make([]float32, len(x))
	if PackInt8(p, len(x), 1, Mat(x, 1)).Column(got, 0); !slices.Equal(got, want) {
		t.Errorf("int8: got %v, want %v", got, want)
	}
	x = []float32{0, 0x1p-149, 0x1p-140, 0}
	if PackInt8(p, 2, 2, Mat(x, 2)).Column(got[:2], 0); got[0] != 0 || !(math.Abs(float64(got[1]-x[2])) <= 0x1p-142) {
		t.Errorf("int8 of denormal numbers: got %v, want %v", got[:2], []float32{x[0], x[2]})
	}
	if PackInt8(p, 1, 2, Mat([]float32{0x1p-140, -0x1p-140}, 2)).Unpack(Mat(got, 2)); got[0] != -got[1] || got[0] == 0 {
		t.Errorf("int8 of denormal numbers: got %v, want opposite numbers", got[:2])
	}
}

// The largest number of bfloat16 is finite, those that are rounded to ∞ are not, nor is NaN with any bits.
func TestPackedFinite(t *testing.T) {
	p := kernel.NewPool(1)
	for x, want := range map[uint32]bool{
		0: true, 0x7f7f0000: true, 0xff7f7fff: true, 0x7f7f8000: false, 0x7f800000: false, 0xff800000: false,
		0x7fffffff: false, 0xffffffff: false, 0x7f800001: false,
	} {
		if got := PackBF16(p, 1, 2, Mat([]float32{1, math.Float32frombits(x)}, 2)).Finite(); got != want {
			t.Errorf("%#08x: got %t, want %t", x, got, want)
		}
	}
	if !PackInt8(p, 1, 1, Mat([]float32{math.MaxFloat32}, 1)).Finite() {
		t.Error("int8 is always finite")
	}
}

// The memory holds the strips of 64 columns of the matrix.
func TestPackedBytes(t *testing.T) {
	p := kernel.NewPool(2)
	for n, columns := range map[int]int{1: 64, 63: 64, 64: 64, 65: 128, 128: 128, 129: 192} {
		const k = 3
		m := Mat(make([]float32, k*n), n)
		got := [4]int{
			PackedBytes(k, n, false), PackBF16(p, k, n, m).Bytes(), PackedBytes(k, n, true),
			PackInt8(p, k, n, m).Bytes(),
		}
		if want := [4]int{2 * k * columns, 2 * k * columns, (k + 4) * columns, (k + 4) * columns}; got != want {
			t.Errorf("%d columns: got %v bytes, want %v", n, got, want)
		}
	}
}

// An operand that is too short by a number causes a panic, not a read or write after its end.
func TestPackedLooksAtLengths(t *testing.T) {
	const k = 7
	for name, by := range packings {
		for _, n := range []int{64, 67, 128} {
			packed := by.pack(kernel.NewPool(1), k, n, Mat(make([]float32, k*n), n))
			for m := 1; m < 3; m++ {
				for short := range 4 {
					size := [4]int{m * k, n, m * n}
					size[short]--
					func() {
						defer func() {
							if failed := recover() != nil; failed != (short < 3) {
								t.Errorf(
									"%s, %d rows, %d columns, operand %d too short: panic %t", name, m, n, short,
									failed,
								)
							}
						}()
						MulPacked(
							kernel.NewPool(1), m, make([]float32, size[0]), packed, make([]float32, size[1]),
							make([]float32, size[2]),
						)
					}()
				}
			}
		}
	}
}

// A product allocates nothing once the buffers exist; it is timed in bytes of the matrix.
func BenchmarkPacked(b *testing.B) {
	const k, n = 768, 50257
	p := kernel.NewPool(0)
	m := Mat(kerneltest.Random[float32](rand.New(rand.NewPCG(1, 1)), k*n), k).T()
	x, y := make([]float32, 8*k), make([]float32, 8*n)
	for _, rows := range []int{1, 8} {
		for name, by := range packings {
			packed := by.pack(p, k, n, m)
			b.Run(fmt.Sprintf("%s/%d", name, rows), func(b *testing.B) {
				b.SetBytes(int64(PackedBytes(k, n, packed.half == nil)))
				for b.Loop() {
					MulPacked(p, rows, x, packed, nil, y)
				}
			})
		}
		b.Run(fmt.Sprintf("float32/%d", rows), func(b *testing.B) {
			b.SetBytes(4 * k * n)
			for b.Loop() {
				Mul(p, rows, n, k, 1, Mat(x, k), m, 0, Mat(y, n))
			}
		})
	}
}
