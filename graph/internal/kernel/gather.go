package kernel

// Gather copies row ids[i] of table (rows, d) to row i of y.
func Gather[T Float](p *Pool, y, table []T, ids []int, d int) {
	Spread(p, len(ids), rowGrain(d), lookup[T]{y: y, table: table, ids: ids, d: d})
}

// AddPositions computes y = c·x + table[ids], row by row of d numbers.
func AddPositions[T Float](p *Pool, y, x, table []T, ids []int, d int, c T) {
	Spread(p, len(ids), rowGrain(d), lookup[T]{y, x, table, ids, d, c})
}

// lookup holds the arguments of AddPositions or, without x, those of Gather.
type lookup[T Float] struct {
	y, x, table []T
	ids         []int
	d           int
	c           T
}

func (l *lookup[T]) Do(from, to int) {
	d := l.d
	for i := from; i < to; i++ {
		y, row := l.y[i*d:(i+1)*d], l.table[l.ids[i]*d:(l.ids[i]+1)*d]
		if l.x == nil {
			copy(y, row)
			continue
		}
		x := l.x[i*d : (i+1)*d]
		for j, v := range row {
			y[j] = l.c*x[j] + v
		}
	}
}

// ScatterAdd adds row i of dy to row ids[i] of dtable, which it clears first.
func ScatterAdd[T Float](p *Pool, dtable, dy []T, ids []int, d int) {
	p.Range(len(dtable), grain, func(from, to int) { clear(dtable[from:to]) })
	p.Range(d, p.columns(len(ids), d), func(from, to int) {
		for i, id := range ids {
			Accumulate(dtable[id*d+from:id*d+to], dy[i*d+from:i*d+to])
		}
	})
}

// GatherCols copies columns: column c of y is column order[c] of x, whose rows are d wide, or 0 if order[c] is −1.
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

// Scale computes y = c·x.
func Scale[T Float](y, x []T, c T) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = c * v
	}
}
