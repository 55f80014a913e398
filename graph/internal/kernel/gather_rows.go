package kernel

// Rows is the memory that AddRows needs to find rows of equal ids.
type Rows[T Float] struct {
	first, next []int32 // the first row of every id, and the next row with the same id as a row; counted from 1
	sum         []T
}

// NewRows returns the memory for n rows of d entries and ids below rows.
func NewRows[T Float](rows, n, d int) *Rows[T] {
	return &Rows[T]{make([]int32, rows), make([]int32, n), make([]T, d)}
}

// AddRows computes z = x + t, where t is the result of ScatterAdd for dy. z may be x; then only the rows ids change.
func AddRows[T Float](p *Pool, z, x, dy []T, ids []int, r *Rows[T]) {
	d := len(r.sum)
	if &z[0] != &x[0] {
		p.Range(len(z), grain, func(from, to int) { copy(z[from:to], x[from:to]) })
	}
	for i := len(ids) - 1; i >= 0; i-- {
		r.next[i], r.first[ids[i]] = r.first[ids[i]], int32(i+1)
	}
	p.Range(d, p.columns(len(ids), d), func(from, to int) {
		sum := r.sum[from:to]
		for i, id := range ids {
			if int(r.first[id]) != i+1 {
				continue // it was added together with the first row of its id
			}
			clear(sum)
			for i := i + 1; i > 0; i = int(r.next[i-1]) {
				Accumulate(sum, dy[(i-1)*d+from:(i-1)*d+to])
			}
			Accumulate(z[id*d+from:id*d+to], sum)
		}
	})
	for _, id := range ids {
		r.first[id] = 0
	}
}
