package kernel

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"

// Parts is the fixed number of partial sums of a reduction over tokens, and thus the largest number of tasks in the
// backward pass of a norm. With 16 threads every thread has one; with 64, a step of GPT-2's sizes loses 0.2 %.
const Parts = 16

// SumRows computes the sum of the n rows of x (n, d) into sum (d): first Parts partial sums, then their sum, in order.
// If there are more threads than parts, they share the columns too.
func SumRows[T Float](p *Pool, sum, x, scratch []T) {
	d := len(sum)
	n := len(x) / d
	size := lines(d, (p.threads+Parts-1)/Parts)
	across := (d + size - 1) / size
	p.RunOn(parts[T](p, sumOperations*len(x)), Parts*across, 1, eachChunk(func(i int) {
		part, from := i/across, i%across*size
		to := min(d, from+size)
		acc := scratch[part*d+from : part*d+to]
		clear(acc)
		for row := part * n / Parts; row < (part+1)*n/Parts; row++ {
			Accumulate(acc, x[row*d+from:row*d+to])
		}
	}))
	fold(p, sum, scratch)
}

// columns returns the number of columns that a thread takes at a time for sums over n rows. The rows are added in
// order.
func (p *Pool) columns(n, d int) int {
	if n*d <= grain {
		return d
	}
	return lines(d, p.threads)
}

// lines returns the size of a part if d columns are split into the given number of parts, in complete cache lines.
func lines(d, parts int) int {
	const line = 16
	return (d + line*parts - 1) / (line * parts) * line
}

// fold adds up the parts in order.
func fold[T Float](p *Pool, sum, parts []T) {
	d := len(sum)
	Spread(p, d, p.columns(Parts, d), foldTask[T]{sum, parts[:Parts*d]})
}

type foldTask[T Float] struct{ sum, parts []T }

func (f *foldTask[T]) Do(from, to int) {
	sum, d := f.sum[from:to], len(f.sum)
	copy(sum, f.parts[from:to])
	for parts := f.parts[d:]; len(parts) > 0; parts = parts[d:] {
		Accumulate(sum, parts[from:to])
	}
}

// Accumulate adds x to sum.
func Accumulate[T Float](sum, x []T) {
	x = x[:len(sum)]
	if fast := simd.Of[T](); fast != nil {
		fast.Add(simd.Float32s(sum), simd.Float32s(sum), simd.Float32s(x))
		return
	}
	for j, v := range x {
		sum[j] += v
	}
}
