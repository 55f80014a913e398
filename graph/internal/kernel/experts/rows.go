package experts

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// chunk returns the number of rows of d entries that a thread computes at a time.
func chunk(d int) int { return max(1, 1<<13/d) }

// gather copies the tokens of x (n, d) to the rows of the pairs.
func (m *Mixture[T]) gather(rows, x []T) {
	kernel.Gather(m.Pool, rows, x, m.Routes.token[:m.Routes.pairs()], m.Embd)
}

// scale multiplies the rows of the pairs by their gates.
func (m *Mixture[T]) scale(rows []T, cols int) {
	kernel.Spread(m.Pool, m.Routes.pairs(), chunk(cols), scaling[T]{rows, m.Routes.gate, cols})
}

type scaling[T kernel.Float] struct {
	rows, gate []T
	cols       int
}

func (t *scaling[T]) Do(from, to int) {
	kernel.ScaleRows(t.rows[from*t.cols:], t.gate[from:to], t.cols, t.cols)
}

// dots computes the products of the rows of two matrices.
type dots[T kernel.Float] struct {
	dots, x, y []T
	cols       int
}

func (t *dots[T]) Do(from, to int) {
	kernel.DotRows(t.dots[from:to], t.x[from*t.cols:], t.y[from*t.cols:], t.cols, t.cols)
}

// collect computes y (n, d), the sums of the rows of each token, in the order of the experts.
func (m *Mixture[T]) collect(y, rows []T) {
	kernel.Spread(m.Pool, m.Tokens, chunk(m.Embd*m.Active), sums[T]{y, rows, m.Routes.of, m.Embd, m.Active})
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
