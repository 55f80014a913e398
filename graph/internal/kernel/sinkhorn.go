package kernel

// balanced is the number of matrices that are normalised at a time, entry beside entry: every operation is on a row of
// as many numbers.
const balanced = 32

// Sinkhorn is the kernel of Sinkhorn's normalisation of matrices (s, s), each a row of Z. It takes e^z of every entry.
// Then it divides, Pairs times, first each column and then each row by its sum plus Eps. The first division is a
// softmax, without Eps. Scratch holds SinkhornScratch numbers.
type Sinkhorn[T Float] struct {
	Z           []T // (n, s²)
	Size, Pairs int // s
	Eps         float64
	Scratch     []T
}

// SinkhornScratch returns the size of the scratch: for each of Parts, the results and the factors of every step, and Δ.
func SinkhornScratch(size, pairs int) int {
	return Parts * (2*pairs + 1) * (size*size + size) * balanced
}

// Forward computes the normalised matrices y.
func (s Sinkhorn[T]) Forward(p *Pool, y []T) { Spread(p, Parts, 1, sinkhorn[T]{s, y}) }

type sinkhorn[T Float] struct {
	Sinkhorn[T]
	y []T
}

func (s *sinkhorn[T]) Do(part, _ int) {
	for from, to := s.part(part); from < to; from += balanced {
		n := min(balanced, to-from)
		s.steps(part, from, n)
		y, _ := s.step(part, 2*s.Pairs-1, n)
		s.write(s.y, y, from, n)
	}
}

// Backward computes dz from dy. It computes the steps again. For y = x∘f, f = 1/(Σx + ε) of a column or row,
//
//	dx = f∘(dy − Σ dy∘y),  and dz = y∘(dy − Σ dy∘y) in the first step
func (s Sinkhorn[T]) Backward(p *Pool, dz, dy []T) {
	Spread(p, Parts, 1, sinkhornBackward[T]{s, dz, dy})
}

type sinkhornBackward[T Float] struct {
	Sinkhorn[T]
	dz, dy []T
}

func (s *sinkhornBackward[T]) Do(part, _ int) {
	for from, to := s.part(part); from < to; from += balanced {
		n := min(balanced, to-from)
		s.steps(part, from, n)
		d, sums := s.step(part, 2*s.Pairs, n)
		s.read(d, s.dy, from, n)
		for step := 2*s.Pairs - 1; step >= 0; step-- {
			y, factors := s.step(part, step, n)
			clear(sums)
			for i := range s.Size * s.Size {
				MulAdd(sums[s.line(step, i)*n:][:n], d[i*n:][:n], y[i*n:][:n])
			}
			for i := range s.Size * s.Size {
				di, line := d[i*n:][:n], s.line(step, i)
				for j, sum := range sums[line*n:][:n] {
					di[j] -= sum
				}
				if step == 0 {
					Mul(di, di, y[i*n:][:n])
				} else {
					Mul(di, di, factors[line*n:][:n])
				}
			}
		}
		s.write(s.dz, d, from, n)
	}
}

// part returns the matrices of a part.
func (s *Sinkhorn[T]) part(i int) (from, to int) {
	n := len(s.Z) / (s.Size * s.Size)
	return i * n / Parts, (i + 1) * n / Parts
}

// step returns the place of the results (s², n) of a step of a part, and of its factors or sums (s, n).
func (s *Sinkhorn[T]) step(part, step, n int) (y, factors []T) {
	size := s.Size * s.Size
	at := (part*(2*s.Pairs+1) + step) * (size + s.Size) * balanced
	return s.Scratch[at:][:size*n], s.Scratch[at+size*n:][:s.Size*n]
}

// line returns the column of an entry in even steps, and its row in odd ones.
func (s *Sinkhorn[T]) line(step, entry int) int {
	if step%2 == 0 {
		return entry % s.Size
	}
	return entry / s.Size
}

// read copies n matrices, the rows of x, to the columns of y, and write copies them back.
func (s *Sinkhorn[T]) read(y, x []T, from, n int) {
	for e := range s.Size * s.Size {
		for i := range n {
			y[e*n+i] = x[(from+i)*s.Size*s.Size+e]
		}
	}
}

func (s *Sinkhorn[T]) write(x, y []T, from, n int) {
	for e := range s.Size * s.Size {
		for i := range n {
			x[(from+i)*s.Size*s.Size+e] = y[e*n+i]
		}
	}
}

// steps computes the results and the factors of every step of n matrices.
func (s *Sinkhorn[T]) steps(part, from, n int) {
	x, top := s.step(part, 0, n)
	s.read(x, s.Z, from, n)
	copy(top, x) // the first row
	for e := range s.Size * s.Size {
		top := top[s.line(0, e)*n:][:n]
		for i, v := range x[e*n:][:n] {
			top[i] = max(top[i], v)
		}
	}
	for e := range s.Size * s.Size {
		x := x[e*n:][:n]
		for i, v := range top[s.line(0, e)*n:][:n] {
			x[i] -= v
		}
	}
	Exps(x)
	eps := T(0)
	for step := range 2 * s.Pairs {
		y, sums := s.step(part, step, n)
		clear(sums)
		for i := range s.Size * s.Size {
			sum := sums[s.line(step, i)*n:][:n]
			addTask[T]{}.of(sum, sum, x[i*n:][:n])
		}
		for i := range sums {
			sums[i] += eps
		}
		Inverse(sums, sums)
		for i := range s.Size * s.Size {
			Mul(y[i*n:][:n], x[i*n:][:n], sums[s.line(step, i)*n:][:n])
		}
		x, eps = y, T(s.Eps)
	}
}
