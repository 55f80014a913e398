package kernel

// Gather copies row ids[i] of table (rows, d) to row i of y.
func Gather[T Float](p *Pool, y, table []T, ids []int, d int) {
	Spread(p, len(ids), rowGrain(d), lookup[T]{y: y, table: table, ids: ids, d: d})
}

// AddPositions computes y = c·x + table[ids], row by row of d numbers.
func AddPositions[T Float](p *Pool, y, x, table []T, ids []int, d int, c T) {
	Spread(p, len(ids), rowGrain(d), lookup[T]{y, x, table, ids, d, c})
}

// lookup holds the arguments of AddPositions or, without x, of Gather.
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
			y[j] = T(l.c*x[j]) + v
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

// Order is a choice of columns, in blocks of adjacent ones.
type Order struct {
	blocks []adjacent
	width  int
}

// adjacent are the columns of the result from column to on: the operand's from column from on, or 0 if from is −1.
type adjacent struct{ to, from, count int }

// NewOrder returns the order in which column c of the result is column order[c] of the operand or, for −1, 0.
func NewOrder(order []int) Order {
	var blocks []adjacent
	for c, at := range order {
		if n := len(blocks) - 1; n >= 0 {
			last := &blocks[n]
			if at < 0 && last.from < 0 || at >= 0 && last.from >= 0 && at == last.from+last.count {
				last.count++
				continue
			}
		}
		blocks = append(blocks, adjacent{c, at, 1})
	}
	return Order{blocks, len(order)}
}

// GatherCols copies columns of x, whose rows are d wide, to y.
func GatherCols[T Float](pool *Pool, y, x []T, order Order, d int) {
	width := order.width
	pool.Rows(len(x)/d, width, func(from, to int) {
		for i := from; i < to; i++ {
			x, y := x[i*d:(i+1)*d], y[i*width:(i+1)*width]
			for _, b := range order.blocks {
				switch own := y[b.to:][:b.count]; {
				case b.from < 0:
					clear(own)
				case b.count == 1:
					own[0] = x[b.from]
				default:
					copy(own, x[b.from:])
				}
			}
		}
	})
}

// GatherColsBackward adds the columns of dy to the columns of dx, which it clears first.
func GatherColsBackward[T Float](pool *Pool, dx, dy []T, order Order, d int) {
	width := order.width
	pool.Rows(len(dx)/d, width, func(from, to int) {
		for i := from; i < to; i++ {
			dx, dy := dx[i*d:(i+1)*d], dy[i*width:(i+1)*width]
			clear(dx)
			for _, b := range order.blocks {
				switch {
				case b.from < 0:
				case b.count == 1:
					dx[b.from] += dy[b.to]
				default:
					Accumulate(dx[b.from:][:b.count], dy[b.to:][:b.count])
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
