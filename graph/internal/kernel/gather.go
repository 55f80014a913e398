package kernel

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
		accumulate(dtable[id*d:(id+1)*d], dy[i*d:(i+1)*d])
	}
}

// Rows is what AddRows needs to find rows of equal ids.
type Rows[T Float] struct {
	first, next []int32 // of every id the first row, of every row the next of its id, counted from 1
	sum         []T
}

// NewRows is for n rows of d entries and ids below rows.
func NewRows[T Float](rows, n, d int) *Rows[T] {
	return &Rows[T]{make([]int32, rows), make([]int32, n), make([]T, d)}
}

// AddRows computes z = x + t, t being what ScatterAdd computes of dy. z may be x: then it writes to the rows ids alone.
func AddRows[T Float](z, x, dy []T, ids []int, r *Rows[T]) {
	d := len(r.sum)
	if &z[0] != &x[0] {
		copy(z, x)
	}
	for i := len(ids) - 1; i >= 0; i-- {
		r.next[i], r.first[ids[i]] = r.first[ids[i]], int32(i+1)
	}
	for _, id := range ids {
		if r.first[id] == 0 {
			continue
		}
		clear(r.sum)
		for i := r.first[id]; i > 0; i = r.next[i-1] {
			accumulate(r.sum, dy[int(i-1)*d:int(i)*d])
		}
		accumulate(z[id*d:(id+1)*d], r.sum)
		r.first[id] = 0
	}
}

// GatherCols copies columns: column c of y is column order[c] of x, whose rows are d wide, or 0 where that is −1.
func GatherCols[T Float](pool *Pool, y, x []T, order []int, d int) {
	pool.Rows(len(x)/d, len(order), func(from, to int) {
		for i := from; i < to; i++ {
			x, y := x[i*d:(i+1)*d], y[i*len(order):(i+1)*len(order)]
			for c, at := range order {
				if y[c] = 0; at >= 0 {
					y[c] = x[at]
				}
			}
		}
	})
}

// GatherColsBackward adds column c of dy to column order[c] of dx, which it clears first.
func GatherColsBackward[T Float](pool *Pool, dx, dy []T, order []int, d int) {
	pool.Rows(len(dx)/d, len(order), func(from, to int) {
		for i := from; i < to; i++ {
			dx, dy := dx[i*d:(i+1)*d], dy[i*len(order):(i+1)*len(order)]
			clear(dx)
			for c, at := range order {
				if at >= 0 {
					dx[at] += dy[c]
				}
			}
		}
	})
}

// AddPositions computes y = c·x + table[ids], row by row of d numbers.
func AddPositions[T Float](y, x, table []T, ids []int, d int, c T) {
	for i, id := range ids {
		y, x, row := y[i*d:(i+1)*d], x[i*d:(i+1)*d], table[id*d:(id+1)*d]
		for j, v := range row {
			y[j] = c*x[j] + v
		}
	}
}

// Scale computes y = c·x.
func Scale[T Float](y, x []T, c T) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = c * v
	}
}
