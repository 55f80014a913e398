package kernel

// grain is the number of entries in a chunk of an elementwise loop: some microseconds of work.
const grain = 8192

// entrywise is an operation z = f(x, y) on each entry by itself. The type says which, so that it takes no closure to hand
// it to another thread.
type entrywise[T Float] interface{ of(z, x, y []T) }

// entries is an entrywise operation and its arguments; y is nil if it has one alone.
type entries[T Float] struct {
	f       entrywise[T]
	z, x, y []T
}

func (e *entries[T]) do(from, to int) {
	y := e.y
	if y != nil {
		y = y[from:to]
	}
	e.f.of(e.z[from:to], e.x[from:to], y)
}

// each computes z = f(x, y) on the pool's threads.
func each[T Float](p *Pool, f entrywise[T], z, x, y []T) {
	e := entries[T]{f, z, x, y}
	if len(z) <= grain {
		e.do(0, len(z))
		return
	}
	jobs := spareOf[entries[T]](&p.entries32, &p.entries64)
	j := jobs.take()
	*j = e
	p.run(len(z), grain, j)
	*j = entries[T]{}
	jobs.give(j)
}

// Add computes z = x + y.
func Add[T Float](p *Pool, z, x, y []T) { each[T](p, adding[T]{}, z, x, y) }

type adding[T Float] struct{}

func (adding[T]) of(z, x, y []T) {
	if fast := vectorsOf[T](); fast != nil {
		fast.add(single(z), single(x), single(y))
		return
	}
	for i, v := range x {
		z[i] = v + y[i]
	}
}

// ReLU computes y = max(x, 0).
func ReLU[T Float](p *Pool, y, x []T) { each[T](p, relu[T]{}, y, x, nil) }

type relu[T Float] struct{}

func (relu[T]) of(y, x, _ []T) {
	if fast := vectorsOf[T](); fast != nil {
		fast.relu(single(y), single(x))
		return
	}
	for i, v := range x {
		y[i] = max(v, 0)
	}
}

// ReLUBackward computes dx = dy where x > 0, else 0.
func ReLUBackward[T Float](p *Pool, dx, x, dy []T) { each[T](p, reluSlope[T]{}, dx, x, dy) }

type reluSlope[T Float] struct{}

func (reluSlope[T]) of(dx, x, dy []T) {
	if fast := vectorsOf[T](); fast != nil {
		fast.reluBackward(single(dx), single(x), single(dy))
		return
	}
	for i, v := range x {
		if dx[i] = 0; v > 0 {
			dx[i] = dy[i]
		}
	}
}

// SumRows computes the sum of the n rows of x (n, d) into sum (d): in Parts parts, then the parts in their order.
func SumRows[T Float](p *Pool, sum, x, scratch []T) {
	d := len(sum)
	n := len(x) / d
	parts := scratch
	clear(parts)
	p.For(Parts, func(part int) {
		acc, rows := parts[part*d:(part+1)*d], x[part*n/Parts*d:(part+1)*n/Parts*d]
		for ; len(rows) > 0; rows = rows[d:] {
			accumulate(acc, rows[:d])
		}
	})
	fold(sum, parts)
}

// Parts is the fixed number of partial sums of a reduction over tokens.
const Parts = 16

func fold[T Float](sum, parts []T) {
	d := len(sum)
	copy(sum, parts[:d])
	for ; len(parts) > d; parts = parts[d:] {
		accumulate(sum, parts[d:2*d])
	}
}

// accumulate adds x to sum.
func accumulate[T Float](sum, x []T) {
	x = x[:len(sum)]
	if fast := vectorsOf[T](); fast != nil {
		fast.add(single(sum), single(sum), single(x))
		return
	}
	for j, v := range x {
		sum[j] += v
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
		accumulate(dtable[id*d:(id+1)*d], dy[i*d:(i+1)*d])
	}
}
