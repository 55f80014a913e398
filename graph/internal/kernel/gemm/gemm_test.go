package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// epsilon is half the distance from 1 to the next number.
func epsilon[T kernel.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return 0x1p-24
	}
	return 0x1p-53
}

func (m Matrix[T]) at(i, j int) float64 {
	if m.Trans {
		i, j = j, i
	}
	return float64(m.Data[i*m.Stride+j])
}

// randomMatrix returns a matrix whose rows are further apart than they are wide.
func randomMatrix[T kernel.Float](rng *rand.Rand, rows, cols int, trans bool) Matrix[T] {
	if trans {
		rows, cols = cols, rows
	}
	stride := cols + rng.IntN(4)
	return Matrix[T]{kerneltest.Random[T](rng, rows*stride), stride, trans}
}

func TestGemm(t *testing.T) {
	t.Run("float32", testGemm[float32])
	t.Run("float64", testGemm[float64])
}

func testGemm[T kernel.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 2, 3, 5, 17, 63, 65, 129, 193, 197}
	for range 60 {
		m, n, k := sizes[rng.IntN(len(sizes))], sizes[rng.IntN(len(sizes))], sizes[rng.IntN(len(sizes))]
		a := randomMatrix[T](rng, m, k, rng.IntN(2) == 0)
		b := randomMatrix[T](rng, k, n, rng.IntN(2) == 0)
		c := randomMatrix[T](rng, m, n, false)
		alpha, beta := T([]float64{1, -0.7}[rng.IntN(2)]), T([]float64{0, 1, 0.5}[rng.IntN(3)])
		if beta == 0 { // earlier numbers must not matter
			for i := range m {
				c.Data[i*c.Stride+rng.IntN(n)] = T(math.NaN())
			}
		}
		t.Run(fmt.Sprintf("%dx%dx%d/%t/%t/%g/%g", m, n, k, a.Trans, b.Trans, alpha, beta), func(t *testing.T) {
			got := Mat(slices.Clone(c.Data), c.Stride)
			MulSerial(m, n, k, alpha, a, b, beta, got)
			checkGemm(t, m, n, k, alpha, a, b, beta, c, got)
			for _, threads := range []int{1, 2, 8} {
				again := slices.Clone(c.Data)
				Mul(kernel.NewPool(threads), m, n, k, alpha, a, b, beta, Mat(again, c.Stride))
				if !kerneltest.SameBits(again, got.Data) {
					t.Errorf("%d threads: other bits than in series", threads)
				}
			}
		})
	}
}

// checkGemm compares with sums in float64, and checks that the gaps between the rows are unchanged.
func checkGemm[T kernel.Float](t *testing.T, m, n, k int, alpha T, a, b Matrix[T], beta T, before, got Matrix[T]) {
	t.Helper()
	for i := range m {
		for j := range got.Stride {
			at := i*got.Stride + j
			if j >= n {
				if got.Data[at] != before.Data[at] {
					t.Fatalf("entry (%d, %d), after the row's end, was written", i, j)
				}
				continue
			}
			var want, size float64
			for l := range k {
				want += a.at(i, l) * b.at(l, j)
				size += math.Abs(a.at(i, l) * b.at(l, j))
			}
			want, size = float64(alpha)*want, math.Abs(float64(alpha))*size
			if beta != 0 {
				want += float64(beta) * float64(before.Data[at])
				size += math.Abs(float64(before.Data[at]))
			}
			if d, tol := math.Abs(float64(got.Data[at])-want), float64(k+4)*epsilon[T]()*size; !(d <= tol) {
				t.Fatalf("entry (%d, %d): got %v, want %v", i, j, got.Data[at], want)
			}
		}
	}
}

// TestDgemvClearsTooMuch documents why a single row goes through Dgemm: gonum v0.17.0's Dgemv with a transposed matrix
// and beta = 0 clears the complete slice that it receives, not only the result in it.
func TestDgemvClearsTooMuch(t *testing.T) {
	const sentinel = 7
	y := []float64{sentinel, sentinel, sentinel, sentinel}
	gonum.Implementation{}.Dgemv(blas.Trans, 1, 2, 1, []float64{1, 2}, 2, []float64{1}, 1, 0, y, 1)
	if y[2] == sentinel && y[3] == sentinel {
		t.Log("gonum keeps to the result's length: gonumTile could call Dgemv for a single row")
	}
	c := []float64{sentinel, sentinel, sentinel, sentinel}
	MulSerial(1, 2, 1, 1, Mat([]float64{1}, 1), Mat([]float64{1, 2}, 2), 0, Mat(c, 4))
	if want := []float64{1, 2, sentinel, sentinel}; !slices.Equal(c, want) {
		t.Errorf("got %v, want %v", c, want)
	}
}

func TestGemmAdd(t *testing.T) {
	t.Run("float32", testGemmAdd[float32])
	t.Run("float64", testGemmAdd[float64])
}

// testGemmAdd: a product with a bias or another matrix equals a product that begins with it in c, to the bit.
func testGemmAdd[T kernel.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, s := range [][3]int{{1, 5, 3}, {13, 33, 7}, {70, 65, 300}, {200, 130, 40}} {
		m, n, k := s[0], s[1], s[2]
		a, b := randomMatrix[T](rng, m, k, false), randomMatrix[T](rng, k, n, true)
		d := randomMatrix[T](rng, m, n, false)
		for _, stride := range []int{0, d.Stride} {
			d.Stride = stride
			want := make([]T, m*n)
			for i := range m {
				copy(want[i*n:(i+1)*n], d.Data[i*stride:])
			}
			MulSerial(m, n, k, 1, a, b, 1, Mat(want, n))
			for _, threads := range []int{1, 2, 8} {
				got := make([]T, m*n)
				for i := range got {
					got[i] = T(math.NaN())
				}
				MulAdd(kernel.NewPool(threads), m, n, k, 1, a, b, d, Mat(got, n))
				if !kerneltest.SameBits(got, want) {
					t.Errorf("%v, stride %d, %d threads: other bits", s, stride, threads)
				}
			}
		}
	}
}

// TestGemmOfNothing: without terms, c is beta·c or d; without rows or columns nothing happens.
func TestGemmOfNothing(t *testing.T) {
	c := []float32{1, 2, 3, 4}
	Mul(kernel.NewPool(2), 2, 2, 0, 1, Mat[float32](nil, 0), Mat[float32](nil, 2), 0.5, Mat(c, 2))
	if want := []float32{0.5, 1, 1.5, 2}; !slices.Equal(c, want) {
		t.Errorf("got %v, want %v", c, want)
	}
	MulAdd(
		kernel.NewPool(2), 2, 2, 0, 1, Mat[float32](nil, 0), Mat[float32](nil, 2),
		Matrix[float32]{Data: []float32{7, 8}}, Mat(c, 2),
	)
	if want := []float32{7, 8, 7, 8}; !slices.Equal(c, want) {
		t.Errorf("got %v, want %v", c, want)
	}
	Mul(kernel.NewPool(2), 0, 2, 3, 1, Mat[float32](nil, 3), Mat(c, 2), 0, Mat[float32](nil, 2))
	MulSerial(2, 0, 3, 1, Mat(c, 2), Mat[float32](nil, 0), 0, Mat[float32](nil, 0))
}

// TestMatrixViews: a view begins at its row and column, transposed or not, and is empty after the last number.
func TestMatrixViews(t *testing.T) {
	m := Mat([]float32{0, 1, 2, 10, 11, 12, 20, 21, 22}, 3)
	if got := [4]float64{
		float64(m.Row(2)[0]), m.From(1, 2).at(1, -1), m.T().From(1, 2).at(1, 0), m.T().T().at(1, 2),
	}; got != [4]float64{20, 21, 22, 12} {
		t.Errorf("got %v, want 20, 21, 22 and 12", got)
	}
	if rest := m.From(3, 1).Data; len(rest) != 0 {
		t.Errorf("%v after the end", rest)
	}
}

// TestGemmSerialAllocatesNothing once the buffers exist.
func TestGemmSerialAllocatesNothing(t *testing.T) {
	a, b, c := make([]float32, 64*64), make([]float32, 64*64), make([]float32, 64*64)
	if n := testing.AllocsPerRun(200, func() {
		MulSerial(
			64, 64, 64, 1, Mat(a, 64), Mat(b, 64).T(), 0, Mat(c, 64),
		)
	}); n > 0.5 {
		t.Errorf("%g allocations per product", n)
	}
}

// TestGemmLooksAtLengths: an operand that is too short causes a panic, not a read after its end.
func TestGemmLooksAtLengths(t *testing.T) {
	const m, n, k = 5, 40, 7
	for short := range 4 {
		size := []int{m * k, k * n, m * n, m * n}
		size[short]--
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("operand %d: no panic", short)
				}
			}()
			MulAdd(
				kernel.NewPool(1), m, n, k, 1, Mat(make([]float32, size[0]), k), Mat(make([]float32, size[1]), n),
				Mat(make([]float32, size[2]), n), Mat(make([]float32, size[3]), n),
			)
		}()
	}
}

// A symmetric product is Mul's on and below the diagonal, and its transpose above.
func TestMulSymmetric(t *testing.T) {
	t.Run("float32", testMulSymmetric[float32])
	t.Run("float64", testMulSymmetric[float64])
}

func testMulSymmetric[T kernel.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 15, 16, 17, 31, 33, 64, 67, 2*depthMax + 35} {
		for _, k := range []int{1, 7, 130} {
			if testing.Short() && n > 100 && k > 7 {
				continue
			}
			a, c := randomMatrix[T](rng, n, k, rng.IntN(2) == 0), randomMatrix[T](rng, n, n, false)
			d := Matrix[T]{}
			if rng.IntN(2) == 0 {
				d = randomMatrix[T](rng, n, n, false)
				for i := range n {
					for j := range i {
						d.Data[j*d.Stride+i] = d.Data[i*d.Stride+j]
					}
				}
			}
			before, got := slices.Clone(c.Data), Mat(slices.Clone(c.Data), c.Stride)
			MulSymmetric(n, k, -0.7, a, a.T(), d, got)
			beta := T(0)
			if d.Data != nil {
				beta = 1
				for i := range n {
					copy(before[i*c.Stride:], d.Data[i*d.Stride:][:n])
				}
			}
			checkGemm(t, n, n, k, -0.7, a, a.T(), beta, Mat(before, c.Stride), got)
			for i := range n {
				for j := range i {
					if x, y := got.at(i, j), got.at(j, i); x != y {
						t.Fatalf("n = %d, k = %d: entry (%d, %d) is %v, (%d, %d) is %v", n, k, i, j, x, j, i, y)
					}
				}
			}
		}
	}
}
