package gemm

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// A product with k = 0 gives beta·c, or the other matrix, and leaves the numbers next to c unchanged.
func TestProductOverNothing(t *testing.T) {
	emptyProducts[float32](t, Exact[float32]{})
	emptyProducts[float64](t, Exact[float64]{})
	emptyProducts[float32](t, Rounded{})
}

func emptyProducts[T kernel.Float](t *testing.T, by Products[T]) {
	t.Helper()
	p := kernel.NewPool(2)
	for beta, want := range map[T][]T{0: {0, 0, 9, 0, 0, 9}, 1: {1, 2, 9, 3, 4, 9}, 2: {2, 4, 9, 6, 8, 9}} {
		for name, mul := range map[string]func(c Matrix[T]){
			"Mul":       func(c Matrix[T]) { by.Mul(p, 2, 2, 0, 1, Mat[T](nil, 0), Mat[T](nil, 2), beta, c) },
			"MulSerial": func(c Matrix[T]) { by.MulSerial(2, 2, 0, 1, Mat[T](nil, 0), Mat[T](nil, 2), beta, c) },
		} {
			c := []T{1, 2, 9, 3, 4, 9}
			if beta == 0 { // numbers that are not read may be arbitrary
				c[1] = T(math.NaN())
			}
			if mul(Mat(c, 3)); !slices.Equal(c, want) {
				t.Errorf("%s with beta %v: got %v, want %v", name, beta, c, want)
			}
		}
	}
	c, d := []T{1, 2, 9, 3, 4, 9}, []T{5, 6, 7, 8}
	if by.MulAdd(
		p, 2, 2, 0, 1, Mat[T](nil, 0), Mat[T](nil, 2), Mat(d, 2), Mat(c, 3),
	); !slices.Equal(c, []T{5, 6, 9, 7, 8, 9}) {
		t.Errorf("MulAdd: got %v", c)
	}
	if by.MulAdd(
		p, 2, 2, 0, 1, Mat[T](nil, 0), Mat[T](nil, 2), Matrix[T]{Data: d}, Mat(c, 3),
	); !slices.Equal(c, []T{5, 6, 9, 5, 6, 9}) {
		t.Errorf("MulAdd of a bias: got %v", c)
	}
}

// A product of rows with a Packed matrix without rows is the bias, or 0.
func TestPackedOverNothing(t *testing.T) {
	for name, by := range packings {
		const n = 67
		packed := by.pack(kernel.NewPool(1), 0, n, Mat[float32](nil, n))
		bias := slices.Repeat([]float32{3}, n)
		eachSet(func(set string) {
			for m := 1; m < 3; m++ {
				got := slices.Repeat([]float32{float32(math.NaN())}, m*n)
				if MulPacked(kernel.NewPool(2), m, nil, packed, bias, got); !slices.Equal(got, slices.Repeat(bias, m)) {
					t.Errorf("%s, %s, %d rows: got %v, want the bias", name, set, m, got)
				}
				if MulPacked(kernel.NewPool(2), m, nil, packed, nil, got); !slices.Equal(got, make([]float32, m*n)) {
					t.Errorf("%s, %s, %d rows: got %v, want 0", name, set, m, got)
				}
			}
		})
	}
}
