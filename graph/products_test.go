package graph

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// TestProducts compares the Sgemm installed by UseBLAS with gonum's, in all four forms and with leading dimensions.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := products{pool: kernel.NewPool(2)}
	for range 60 {
		m, n, k := 1+rng.IntN(70), 1+rng.IntN(70), 1+rng.IntN(70)
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				rowsA, lda := m, k+rng.IntN(3)
				if tA == blas.Trans {
					rowsA, lda = k, m+rng.IntN(3)
				}
				rowsB, ldb := k, n+rng.IntN(3)
				if tB == blas.Trans {
					rowsB, ldb = n, k+rng.IntN(3)
				}
				ldc := n + rng.IntN(3)
				a, b, c := random(rng, rowsA*lda), random(rng, rowsB*ldb), random(rng, m*ldc)
				want := append([]float32{}, c...)
				alpha, beta := rng.Float32(), rng.Float32()
				p.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
				gonum.Implementation{}.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, want, ldc)
				for i, w := range want {
					if d := c[i] - w; !(d <= 1e-5 && d >= -1e-5) {
						t.Fatalf("(%d, %d, %d) %c %c: entry %d is %v, want %v", m, n, k, tA, tB, i, c[i], w)
					}
				}
			}
		}
	}
}

func random(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = rng.Float32() - 0.5
	}
	return x
}

func TestPrecisionIsKnown(t *testing.T) {
	g := New(Float32, 1)
	g.SetPrecision("bf16")
	if got := g.Precision(); got != "bfloat16 by VDPBF16PS" && got != "bfloat16 by rounding" {
		t.Errorf("got %q", got)
	}
	if got := g.Sibling().Precision(); got != "float32" {
		t.Errorf("a Sibling: got %q, want float32", got)
	}
	g.Kernels = false
	if got := g.Precision(); got != "float32" {
		t.Errorf("the reference form: got %q, want float32", got)
	}
	g.SetPrecision("float16")
	if err := g.Err(); err == nil ||
		!strings.Contains(err.Error(), `precision: got "float16", want one of float32, bf16`) {
		t.Errorf("got %v", err)
	}
}
