package kernel

// grain is the number of entries in a chunk of an elementwise loop: some microseconds of work.
const grain = 8192

// Add computes z = x + y.
func Add[T Float](p *Pool, z, x, y []T) {
	p.Range(len(z), grain, func(from, to int) {
		x, y, z := x[from:to], y[from:to], z[from:to]
		for i, v := range x {
			z[i] = v + y[i]
		}
	})
}

// ReLU computes y = max(x, 0).
func ReLU[T Float](p *Pool, y, x []T) {
	p.Range(len(x), grain, func(from, to int) {
		for i, v := range x[from:to] {
			y[from+i] = max(v, 0)
		}
	})
}

// ReLUBackward computes dx = dy where x > 0, else 0.
func ReLUBackward[T Float](p *Pool, dx, x, dy []T) {
	p.Range(len(x), grain, func(from, to int) {
		for i, v := range x[from:to] {
			if dx[from+i] = 0; v > 0 {
				dx[from+i] = dy[from+i]
			}
		}
	})
}

// SumRows computes the sum of the n rows of x (n, d) into sum (d): in sumParts parts, then the parts in their order.
func SumRows[T Float](p *Pool, sum, x []T) {
	d := len(sum)
	n := len(x) / d
	parts := make([]T, sumParts*d)
	p.For(sumParts, func(part int) {
		acc := parts[part*d : (part+1)*d]
		for i := part * n / sumParts; i < (part+1)*n/sumParts; i++ {
			for j, v := range x[i*d : (i+1)*d] {
				acc[j] += v
			}
		}
	})
	fold(sum, parts)
}

// sumParts is the fixed number of partial sums of a reduction over tokens.
const sumParts = 16

func fold[T Float](sum, parts []T) {
	d := len(sum)
	copy(sum, parts[:d])
	for ; len(parts) > d; parts = parts[d:] {
		for j, v := range parts[d : 2*d] {
			sum[j] += v
		}
	}
}

// Gather copies row ids[i] of table (rows, d) to row i of y.
func Gather[T Float](y, table []T, ids []int, d int) {
	for i, id := range ids {
		copy(y[i*d:(i+1)*d], table[id*d:(id+1)*d])
	}
}

// ScatterAdd adds row i of dy to row ids[i] of dtable, which it clears first.
func ScatterAdd[T Float](dtable, dy []T, ids []int, d int) {
	clear(dtable)
	for i, id := range ids {
		row := dtable[id*d : (id+1)*d]
		for j, v := range dy[i*d : (i+1)*d] {
			row[j] += v
		}
	}
}
