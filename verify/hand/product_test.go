package hand

import (
	"math"
	"math/rand/v2"
	"testing"
)

// naive is the definition of the product.
func naive[T Number](x, y Matrix[T]) Matrix[T] {
	out := Zeros[T](x.Rows, y.Cols)
	for i := range x.Rows {
		for k := range x.Cols {
			for j := range y.Cols {
				out.Data[i*y.Cols+j] += x.At(i, k) * y.At(k, j)
			}
		}
	}
	return out
}

// The product has the bits of its definition, whichever of its factors are real, and in whatever sizes: none, fewer than
// are taken at a time, and more.
func TestProductIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(rows, cols int, imaginary float64) Matrix[complex128] {
		m := Zeros[complex128](rows, cols)
		for i := range m.Data {
			m.Data[i] = complex(rng.NormFloat64(), 0)
			if rng.IntN(3) == 0 {
				m.Data[i] += complex(0, imaginary*rng.NormFloat64())
			}
		}
		return m
	}
	for _, size := range [][3]int{{3, 4, 5}, {1, 1, 1}, {2, 9, 3}, {5, 11, 1}, {1, 0, 2}, {0, 3, 2}, {2, 3, 0}, {7, 8, 6}} {
		for _, step := range [][2]float64{{0, 0}, {1e-30, 0}, {0, 1e-30}, {1e-30, 1e-30}, {1, 1}} {
			x, y := random(size[0], size[1], step[0]), random(size[1], size[2], step[1])
			got, want := x.MatMul(y), naive(x, y)
			if got.Err != nil || got.Rows != want.Rows || got.Cols != want.Cols || len(got.Data) != len(want.Data) {
				t.Fatalf("%v: got (%d, %d) of %d numbers, %v", size, got.Rows, got.Cols, len(got.Data), got.Err)
			}
			for i := range want.Data {
				if bits(got.Data[i]) != bits(want.Data[i]) {
					t.Errorf("%v, imaginary parts %v: entry %d: got %v, want %v", size, step, i, got.Data[i], want.Data[i])
				}
			}
		}
	}
	x, y := NewMatrix(2, 5, 1.5, -2, 0.1, 7, 1e-9, 3, 1, -0.3, 0.7, 0.2), NewMatrix(5, 1, 0.1, 0.2, 0.3, 0.4, 0.5)
	got, want := x.MatMul(y), naive(x, y)
	for i := range want.Data {
		if got.Data[i] != want.Data[i] {
			t.Errorf("entry %d: got %v, want %v", i, got.Data[i], want.Data[i])
		}
	}
}

func bits(z complex128) [2]uint64 {
	return [2]uint64{math.Float64bits(real(z)), math.Float64bits(imag(z))}
}
