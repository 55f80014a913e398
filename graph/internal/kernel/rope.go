package kernel

// Rotation rotates pairs of columns of a matrix by angles that depend on the row. The first Groups·Size columns form
// groups of Size. Columns 2i and 2i+1 of a group turn by the angle whose cosine and sine are in column i of the tables
// (…, Size/2), in row Positions[row]. Back rotates the other way. A Rotation is the job of its own loop, so that
// running it allocates nothing; it must not be used by two loops at the same time.
type Rotation[T Float] struct {
	Positions    []int
	Groups, Size int
	Back         bool

	y, x, cos, sin []T
	width          int
}

// Run computes y from x of the same size, with a row for every position.
func (r *Rotation[T]) Run(p *Pool, y, x, cos, sin []T) {
	r.y, r.x, r.cos, r.sin, r.width = y, x, cos, sin, len(y)/len(r.Positions)
	p.Run(len(r.Positions), rowGrain(r.width), r)
}

func (r *Rotation[T]) Do(from, to int) {
	half := r.Size / 2
	for row := from; row < to; row++ {
		x, y := r.x[row*r.width:][:r.width], r.y[row*r.width:][:r.width]
		cos, sin := r.cos[r.Positions[row]*half:][:half], r.sin[r.Positions[row]*half:][:half]
		for range r.Groups {
			rotate(y[:r.Size], x[:r.Size], cos, sin, r.Back)
			x, y = x[r.Size:], y[r.Size:]
		}
		copy(y, x)
	}
}

// rotate rotates one group.
func rotate[T Float](y, x, cos, sin []T, back bool) {
	for i, c := range cos {
		s := sin[i]
		if back {
			s = -s
		}
		even, odd := x[2*i], x[2*i+1]
		y[2*i] = T(even*c) - T(odd*s)
		y[2*i+1] = T(even*s) + T(odd*c)
	}
}
