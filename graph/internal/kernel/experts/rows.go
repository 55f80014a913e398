package experts

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// rows returns the rows of a block of x (n·k, cols), which may be nil without columns.
func rows[T kernel.Float](x []T, b block, cols int) []T { return x[b.from*cols : b.to*cols] }

// gather copies the tokens of x (n, d) to the rows of a block.
func (m *Mixture[T]) gather(rows, x []T, b block) {
	d := m.Embd
	for i, t := range m.Routes.token[b.from:b.to] {
		copy(rows[i*d:(i+1)*d], x[t*d:(t+1)*d])
	}
}

// scale multiplies the rows of a block by their gates; rows may be nil.
func (m *Mixture[T]) scale(rows []T, b block, cols int) {
	if rows != nil {
		kernel.ScaleRows(rows, m.Routes.gate[b.from:b.to], cols, cols)
	}
}

// collect computes y (n, d), the sums of the rows of each token, in the order of the experts.
func (m *Mixture[T]) collect(y, rows []T) {
	size := max(1, 1<<13/(m.Embd*m.Active)) // tokens that a thread computes at a time
	kernel.Spread(m.Pool, m.Tokens, size, sums[T]{y, rows, m.Routes.of, m.Embd, m.Active})
}

type sums[T kernel.Float] struct {
	y, rows   []T
	of        []int
	d, active int
}

func (t *sums[T]) Do(from, to int) {
	for i := from; i < to; i++ {
		y := t.y[i*t.d : (i+1)*t.d]
		clear(y)
		for _, at := range t.of[i*t.active : (i+1)*t.active] {
			if at >= 0 {
				kernel.Accumulate(y, t.rows[at*t.d:(at+1)*t.d])
			}
		}
	}
}
