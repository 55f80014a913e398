package kernel

// Arrange copies columns: column c of y is column order[c] of x, whose rows are d wide, or 0 where that is −1.
func Arrange[T Float](pool *Pool, y, x []T, order []int, d int) {
	pool.Range(len(x)/d, rowGrain(len(order)), func(from, to int) {
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

// ArrangeBackward adds column c of dy to column order[c] of dx, which it clears first.
func ArrangeBackward[T Float](pool *Pool, dx, dy []T, order []int, d int) {
	pool.Range(len(dx)/d, rowGrain(len(order)), func(from, to int) {
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
