package kernel

// MatMulEach computes y = a·x in every row of a (n, t·s) and x (n, s·d), which hold matrices (t, s) and (s, d).
func MatMulEach[T Float](p *Pool, y, a, x []T, n, s int) {
	each := matMulEach[T]{y: y, a: a, x: x, s: s, t: len(a) / (n * s), d: len(x) / (n * s)}
	Spread(p, n, rowGrain(len(a)/n*each.d), each)
}

type matMulEach[T Float] struct {
	y, a, x []T
	t, s, d int
}

func (m *matMulEach[T]) Do(from, to int) {
	for t, s, d := m.t, m.s, m.d; from < to; from++ {
		y, a, x := m.y[from*t*d:][:t*d], m.a[from*t*s:][:t*s], m.x[from*s*d:][:s*d]
		clear(y)
		for k := range a {
			MulAddRows(y[k/s*d:][:d], x[k%s*d:][:d], a[k:k+1], d, d)
		}
	}
}

// MatMulEachBackward computes da = dy·xᵀ and dx = aᵀ·dy in every row. da is optional.
func MatMulEachBackward[T Float](p *Pool, da, dx, dy, a, x []T, n, s int) {
	each := matMulEach[T]{y: dy, a: a, x: x, s: s, t: len(a) / (n * s), d: len(x) / (n * s)}
	Spread(p, n, rowGrain(2*len(a)/n*each.d), matMulEachBackward[T]{each, da, dx})
}

type matMulEachBackward[T Float] struct {
	matMulEach[T] // y is dy
	da, dx        []T
}

func (m *matMulEachBackward[T]) Do(from, to int) {
	for t, s, d := m.t, m.s, m.d; from < to; from++ {
		dy, a, x, dx := m.y[from*t*d:][:t*d], m.a[from*t*s:][:t*s], m.x[from*s*d:][:s*d], m.dx[from*s*d:][:s*d]
		clear(dx)
		for k := range a {
			i, j := k/s, k%s
			MulAddRows(dx[j*d:][:d], dy[i*d:][:d], a[k:k+1], d, d)
			if m.da != nil {
				DotRows(m.da[from*t*s+k:][:1], dy[i*d:][:d], x[j*d:][:d], d, d)
			}
		}
	}
}
