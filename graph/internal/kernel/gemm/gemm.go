// Package gemm multiplies matrices: in assembly for float32 on arm64 and on amd64 with AVX-512 or AVX2, otherwise with
// gonum.
package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// Matrix is a view of a row-major matrix: entry (i, j) is Data[i*Stride+j]. If Trans is true, it is the transpose of
// it.
type Matrix[T kernel.Float] struct {
	Data   []T
	Stride int
	Trans  bool
}

// Mat views data as a matrix whose rows are cols wide and contiguous.
func Mat[T kernel.Float](data []T, cols int) Matrix[T] { return Matrix[T]{Data: data, Stride: cols} }

// T returns the transpose, without moving a number.
func (m Matrix[T]) T() Matrix[T] { m.Trans = !m.Trans; return m }

// From returns the same matrix beginning at row i, column j.
func (m Matrix[T]) From(i, j int) Matrix[T] {
	if m.Trans {
		i, j = j, i
	}
	m.Data = m.Data[min(len(m.Data), i*m.Stride+j):]
	return m
}

// Row returns the stored data from row i on.
func (m Matrix[T]) Row(i int) []T { return m.Data[i*m.Stride:] }

// Mul computes c = alpha·a·b + beta·c for a (m, k), b (k, n), c (m, n), chunk by chunk on the pool's threads. With beta
// = 0, c is not read. c must not be transposed.
//
// The products of an entry are added in an order that depends only on k, on whether m is 1 and on whether b is
// transposed; without assembly also on where rows begin, modulo 16 bytes.
func Mul[T kernel.Float](p *kernel.Pool, m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	g := product[T]{m: m, n: n, k: k, alpha: alpha, a: a, b: b, beta: beta, c: c}
	if beta != 0 {
		g.d = c
	}
	g.run(p)
}

// MulAdd computes c = alpha·a·b + d, with d (m, n) another matrix or c itself. A d with Stride 0 is a single row that
// is added to every row, such as a bias. Adding d takes no extra pass over c.
func MulAdd[T kernel.Float](p *kernel.Pool, m, n, k int, alpha T, a, b, d, c Matrix[T]) {
	g := product[T]{m: m, n: n, k: k, alpha: alpha, a: a, b: b, beta: 1, d: d, c: c}
	g.run(p)
}

// MulSerial is like Mul, but uses only the caller's thread, for use inside a loop of the pool.
func MulSerial[T kernel.Float](m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	g := product[T]{m: m, n: n, k: k, alpha: alpha, a: a, b: b, beta: beta, c: c}
	if beta != 0 {
		g.d = c
	}
	g.tile(0, m, 0, n)
}

// MulSymmetric computes c = alpha·a·b + d (n, n) on the caller's thread, where the result is symmetric: a times its
// transpose, or a product of symmetric matrices that commute, and a symmetric d, optional, which is not c. It computes
// the entries on and below the diagonal, in strips of columns, and copies them above it: half of the work of Mul.
func MulSymmetric[T kernel.Float](n, k int, alpha T, a, b, d, c Matrix[T]) {
	g := product[T]{m: n, n: n, k: k, alpha: alpha, a: a, b: b, beta: 1, d: d, c: c}
	if d.Data == nil {
		g.beta = 0
	}
	for j := 0; j < n; j += triangleCols {
		g.tile(j, n, j, min(n, j+triangleCols))
	}
	mirror(n, c)
}

// triangleCols is the width of a strip of a symmetric product: two vectors of AVX2.
const triangleCols = 16

// mirror copies the entries below the diagonal of c (n, n) above it.
func mirror[T kernel.Float](n int, c Matrix[T]) {
	first := 0
	if c, ok := any(c).(Matrix[float32]); ok {
		first = mirrorRows(n, c)
	}
	for i := first; i < n; i++ {
		for j, v := range c.Row(i)[:i] {
			c.Data[j*c.Stride+i] = v
		}
	}
}

// product is c = alpha·a·b + beta·d, without the second term if d has no data. beta may differ from 1 if d is c.
type product[T kernel.Float] struct {
	m, n, k int
	alpha   T
	a, b    Matrix[T]
	beta    T
	d, c    Matrix[T]
}

// cost returns the number of operations of a product of m rows, including those for fetching the numbers of b.
func cost(m, n, k int) int { return 2 * n * k * (m + kernel.FetchRows) }

func (g *product[T]) run(p *kernel.Pool) {
	operations := cost(g.m, g.n, g.k)
	if operations < kernel.SerialCost {
		g.tile(0, g.m, 0, g.n)
		return
	}
	threads := kernel.Worth[T](p, operations)
	j := task[T]{product: *g}
	j.rows, j.cols = cuts.chunk(g.m, g.n, g.k, threads, g.a.Trans)
	j.across = (g.n + j.cols - 1) / j.cols
	kernel.SpreadOn(p, threads, (g.m+j.rows-1)/j.rows*j.across, 1, j)
}

// task is a product in chunks of rows × cols entries of c, with across chunks next to each other.
type task[T kernel.Float] struct {
	product[T]
	rows, cols, across int
}

func (j *task[T]) Do(i, _ int) {
	top, left := i/j.across*j.rows, i%j.across*j.cols
	j.tile(top, min(j.m, top+j.rows), left, min(j.n, left+j.cols))
}
