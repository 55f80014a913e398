package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// rotaryTables returns cos and sin of t·100^(−2i/size) for the given number of positions.
func rotaryTables[T Float](positions, size int) (cos, sin []T) {
	for t := range positions {
		for i := range size / 2 {
			phi := float64(t) * math.Pow(100, -2*float64(i)/float64(size))
			cos, sin = append(cos, T(math.Cos(phi))), append(sin, T(math.Sin(phi)))
		}
	}
	return cos, sin
}

func gauss[T Float](n int, seed uint64) []T {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

func TestRotation(t *testing.T) {
	t.Run("float32", func(t *testing.T) { rotation[float32](t, 2e-6) })
	t.Run("float64", func(t *testing.T) { rotation[float64](t, 1e-14) })
}

// rotation compares with complex numbers, turns back, and does both with any number of threads to the same bits.
func rotation[T Float](t *testing.T, tolerance float64) {
	const size, groups, width, positions = 6, 3, 23, 7 // 5 columns pass
	cos, sin := rotaryTables[T](positions, size)
	rows := make([]int, 4*grain/width)
	for i := range rows {
		rows[i] = i * 5 % positions
	}
	x := gauss[T](len(rows)*width, 3)
	y, back := make([]T, len(x)), make([]T, len(x))
	(&Rotation[T]{Positions: rows, Groups: groups, Size: size}).Run(NewPool(1), y, x, cos, sin)
	for i, got := range y {
		row, j := i/width, i%width
		want := float64(x[i])
		if j < groups*size {
			pair := j % size / 2
			phi := float64(rows[row]) * math.Pow(100, -2*float64(pair)/float64(size))
			z := complex(float64(x[i-j%2]), float64(x[i-j%2+1])) * complex(math.Cos(phi), math.Sin(phi))
			if want = real(z); j%2 == 1 {
				want = imag(z)
			}
		}
		if !(math.Abs(float64(got)-want) <= tolerance*max(1, math.Abs(want))) {
			t.Fatalf("row %d, column %d: got %v, want %v", row, j, got, want)
		}
	}
	for _, threads := range []int{1, 2, 3} {
		p, again := NewPool(threads), make([]T, len(x))
		(&Rotation[T]{Positions: rows, Groups: groups, Size: size}).Run(p, again, x, cos, sin)
		if !slices.Equal(again, y) {
			t.Errorf("%d threads: other numbers", threads)
		}
		(&Rotation[T]{Positions: rows, Groups: groups, Size: size, Back: true}).Run(p, back, y, cos, sin)
		for i, got := range back {
			if !(math.Abs(float64(got-x[i])) <= tolerance*4) {
				t.Fatalf("%d threads, entry %d: got %v, want %v", threads, i, got, x[i])
			}
		}
	}
}
