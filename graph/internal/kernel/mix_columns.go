package kernel

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"

// MixColumns computes y = [a | λ₁·b + λ₂·c] from x = [a | b] (n, d), c (n, e) and λ = [λ₁, λ₂], or [λ₂] if λ₁ is 1.
// scratch holds 2e numbers.
func MixColumns[T Float](p *Pool, y, x, c, lambda, scratch []T, d int) {
	own, other := mixFactors(lambda, scratch)
	Spread(p, len(x)/d, rowGrain(d), mixColumns[T]{y, x, c, own, other, d})
}

// mixFactors returns rows of λ₁ and λ₂ in scratch.
func mixFactors[T Float](lambda, scratch []T) (own, other []T) {
	own, other = scratch[:len(scratch)/2], scratch[len(scratch)/2:]
	first := T(1)
	if len(lambda) == 2 {
		first = lambda[0]
	}
	for i := range own {
		own[i], other[i] = first, lambda[len(lambda)-1]
	}
	return own, other
}

type mixColumns[T Float] struct {
	y, x, c, own, other []T
	d                   int
}

func (m *mixColumns[T]) Do(from, to int) {
	width := len(m.own)
	for row := from; row < to; row++ {
		y, x := m.y[row*m.d:][:m.d], m.x[row*m.d:][:m.d]
		kept := copy(y, x[:m.d-width])
		Mul(y[kept:], x[kept:], m.own)
		MulAdd(y[kept:], m.c[row*width:][:width], m.other)
	}
}

// MixColumnsBackward computes dx = [da | λ₁·db] and dc = λ₂·db from dy = [da | db], and dλ = [Σ db∘b, Σ db∘c], or its
// last entry. dc and dλ are optional. scratch holds 2e numbers and sums 4·Parts.
func MixColumnsBackward[T Float](p *Pool, dx, dc, dlambda, x, c, lambda, dy, scratch, sums []T, d int) {
	own, other := mixFactors(lambda, scratch)
	Spread(p, len(x)/d, rowGrain(d), mixColumnsBackward[T]{dx, dc, dy, own, other, d})
	if dlambda == nil {
		return
	}
	Spread(p, Parts, 1, mixSums[T]{sums, x, c, dy, d})
	clear(dlambda)
	for i := range Parts {
		for j := range dlambda {
			dlambda[j] += sums[4*i+2-len(dlambda)+j]
		}
	}
}

type mixColumnsBackward[T Float] struct {
	dx, dc, dy, own, other []T
	d                      int
}

func (m *mixColumnsBackward[T]) Do(from, to int) {
	width := len(m.own)
	for row := from; row < to; row++ {
		dx, dy := m.dx[row*m.d:][:m.d], m.dy[row*m.d:][:m.d]
		kept := copy(dx, dy[:m.d-width])
		Mul(dx[kept:], dy[kept:], m.own)
		if m.dc != nil {
			Mul(m.dc[row*width:][:width], dy[kept:], m.other)
		}
	}
}

type mixSums[T Float] struct {
	sums, x, c, dy []T
	d              int
}

func (m *mixSums[T]) Do(part, _ int) {
	n, width, sums := len(m.x)/m.d, len(m.c)*m.d/len(m.x), m.sums[4*part:][:4]
	own, other := 0., 0.
	for row := part * n / Parts; row < (part+1)*n/Parts; row++ {
		end := (row + 1) * m.d
		dy := m.dy[end-width : end]
		dot(sums[2:3], dy, m.x[end-width:end])
		dot(sums[3:4], dy, m.c[row*width:][:width])
		own, other = own+float64(sums[2]), other+float64(sums[3])
	}
	sums[0], sums[1] = T(own), T(other)
}

// dot computes sum = Σ x∘y.
func dot[T Float](sum, x, y []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.DotRows(simd.Float32s(sum), simd.Float32s(x), simd.Float32s(y), len(x), len(x))
		return
	}
	sum[0] = 0
	for i, v := range x {
		sum[0] += T(v * y[i])
	}
}

// AddScaled computes z = x + y∘d for x and y (n, w). The factors d (g) belong to g groups of adjacent columns. scratch
// holds w numbers.
func AddScaled[T Float](p *Pool, z, x, y, d, scratch []T) {
	spreadFactors(scratch, d)
	Spread(p, len(x)/len(scratch), rowGrain(len(scratch)), scaledRows[T]{z, x, y, scratch})
}

// spreadFactors writes the factor of every column to row.
func spreadFactors[T Float](row, d []T) {
	for i := range row {
		row[i] = d[i*len(d)/len(row)]
	}
}

// scaledRows is z = x + y∘row, or y∘row without x.
type scaledRows[T Float] struct{ z, x, y, row []T }

func (s *scaledRows[T]) Do(from, to int) {
	d := len(s.row)
	for i := from; i < to; i++ {
		z, y := s.z[i*d:][:d], s.y[i*d:][:d]
		if s.x == nil {
			Mul(z, y, s.row)
			continue
		}
		copy(z, s.x[i*d:])
		MulAdd(z, y, s.row)
	}
}

// AddScaledBackward computes dy = dz∘d, and dd, the sums of dz∘y over the rows and the columns of each group. dd is
// optional. scratch holds (1 + Parts)·w numbers.
func AddScaledBackward[T Float](p *Pool, dy, dd, dz, y, d, scratch []T) {
	width := len(scratch) / (1 + Parts)
	row, sums := scratch[:width], scratch[width:]
	spreadFactors(row, d)
	Spread(p, len(dz)/width, rowGrain(width), scaledRows[T]{dy, nil, dz, row})
	if dd == nil {
		return
	}
	Spread(p, Parts, 1, productSums[T]{sums, dz, y, width})
	fold(p, row, sums)
	clear(dd)
	for i, v := range row {
		dd[i*len(dd)/width] += v
	}
}

// productSums adds up x∘y over the rows of each part.
type productSums[T Float] struct {
	sums, x, y []T
	width      int
}

func (s *productSums[T]) Do(part, _ int) {
	n, d, sum := len(s.x)/s.width, s.width, s.sums[part*s.width:][:s.width]
	clear(sum)
	for row := part * n / Parts; row < (part+1)*n/Parts; row++ {
		MulAdd(sum, s.x[row*d:][:d], s.y[row*d:][:d])
	}
}
