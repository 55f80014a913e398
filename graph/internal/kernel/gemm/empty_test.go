package gemm

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// A product with k = 0 gives beta·c, or the other matrix, and leaves the numbers next to c unchanged.
func TestProductOverNothing(t *testing.T) {
	emptyProducts[float32](t)
	emptyProducts[float64](t)
}

func emptyProducts[T kernel.Float](t *testing.T) {
	p := kernel.NewPool(2)
	for beta, want := range map[T][]T{0: {0, 0, 9, 0, 0, 9}, 1: {1, 2, 9, 3, 4, 9}, 2: {2, 4, 9, 6, 8, 9}} {
		for name, mul := range map[string]func(c Matrix[T]){
			"Mul":       func(c Matrix[T]) { Mul(p, 2, 2, 0, 1, Mat[T](nil, 0), Mat[T](nil, 2), beta, c) },
			"MulSerial": func(c Matrix[T]) { MulSerial(2, 2, 0, 1, Mat[T](nil, 0), Mat[T](nil, 2), beta, c) },
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
	if MulAdd(p, 2, 2, 0, 1, Mat[T](nil, 0), Mat[T](nil, 2), Mat(d, 2), Mat(c, 3)); !slices.Equal(c, []T{5, 6, 9, 7, 8, 9}) {
		t.Errorf("MulAdd: got %v", c)
	}
	if MulAdd(p, 2, 2, 0, 1, Mat[T](nil, 0), Mat[T](nil, 2), Matrix[T]{Data: d}, Mat(c, 3)); !slices.Equal(c, []T{5, 6, 9, 5, 6, 9}) {
		t.Errorf("MulAdd of a bias: got %v", c)
	}
}
