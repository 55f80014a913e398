package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// Rounded implements Products with a and b rounded to bfloat16, as the function bfloat16 does, while they are packed;
// alpha, c, d and all sums stay float32.
//
// The products of an entry are added one by one, each rounded once, in blocks of at most 256, and then the blocks. This
// holds for VDPBF16PS as well as for multiplications and additions of float32. With assembly the bits are the same,
// unless a partial sum is below 2⁻¹²⁶, the smallest normal number, which VDPBF16PS treats as 0.
type Rounded struct{}

// String describes how this processor multiplies.
func (Rounded) String() string {
	if pairs() {
		return "bfloat16 by VDPBF16PS"
	}
	return "bfloat16 by rounding"
}

func (Rounded) Mul(p *kernel.Pool, m, n, k int, alpha float32, a, b Matrix[float32], beta float32, c Matrix[float32]) {
	g := rounded{product: product[float32]{m: m, n: n, k: k, alpha: alpha, a: a, b: b, beta: beta, c: c}}
	if beta != 0 {
		g.d = c
	}
	g.run(p)
}

func (Rounded) MulAdd(p *kernel.Pool, m, n, k int, alpha float32, a, b, d, c Matrix[float32]) {
	g := rounded{product: product[float32]{m: m, n: n, k: k, alpha: alpha, a: a, b: b, beta: 1, d: d, c: c}}
	g.run(p)
}

func (Rounded) MulSerial(m, n, k int, alpha float32, a, b Matrix[float32], beta float32, c Matrix[float32]) {
	g := rounded{product: product[float32]{m: m, n: n, k: k, alpha: alpha, a: a, b: b, beta: beta, c: c}}
	if beta != 0 {
		g.d = c
	}
	g.tile(0, m, 0, n)
}

// rounded is a product in chunks, like task.
type rounded struct {
	product[float32]
	rows, cols, across int
}

func (g *rounded) run(p *kernel.Pool) {
	threads := kernel.Worth[float32](p, cost(g.m, g.n, g.k)/2) // operations take half the time of those in float32
	if threads == 1 || g.m == 0 {
		g.tile(0, g.m, 0, g.n)
		return
	}
	g.scale(0, g.m, 0, g.n)
	g.beta = 1 // the parts add d, which is c if it was scaled
	if pairs() {
		mulPairs(p, threads, &g.product)
		return
	}
	if g.m <= g.n {
		g.cols, g.rows = roundedChunk(g.n, g.m, false, threads)
	} else {
		g.rows, g.cols = roundedChunk(g.m, g.n, true, threads)
	}
	g.across = parts(g.n, g.cols)
	kernel.SpreadOn(p, threads, parts(g.m, g.rows)*g.across, 1, *g)
}

func (g *rounded) Do(i, _ int) {
	top, left := i/g.across*g.rows, i%g.across*g.cols
	g.tile(top, min(g.m, top+g.rows), left, min(g.n, left+g.cols))
}

const (
	partMost           = 384    // of the larger side, at a time
	rowUnit, stripUnit = 24, 32 // the side is cut into multiples of these: complete tiles
)

// roundedChunk returns the size of the part of c that a thread computes at a time, along its larger and its smaller
// side. rows is true if the larger side consists of rows. The larger side is cut, because then none of its numbers is
// packed twice. The smaller side is cut only if there are too few parts. Parts consist of complete tiles, and their
// number is a multiple of the number of threads, or large.
func roundedChunk(larger, smaller int, rows bool, threads int) (size, wide int) {
	unit := stripUnit
	if rows {
		unit = rowUnit
	}
	size = max(unit, min(partMost, larger/(3*threads))/unit*unit)
	for size > unit && parts(larger, size)%threads != 0 && parts(larger, size) < 8*threads {
		size -= unit
	}
	return size, roundUp(parts(smaller, parts(3*threads, parts(larger, size))), 96)
}

func roundUp(n, to int) int { return parts(n, to) * to }

// parts returns the number of parts of at most the given size in n.
func parts(n, size int) int { return (n + size - 1) / size }

// tile computes rows top … bottom and columns left … right of c, block by block of k.
func (g *rounded) tile(top, bottom, left, right int) {
	if top >= bottom || left >= right {
		return
	}
	if g.k == 0 {
		g.addend(top, bottom, left, right)
		return
	}
	g.scale(top, bottom, left, right)
	part := product[float32]{alpha: g.alpha, a: g.a, b: g.b, d: g.d, c: g.c}
	step := depth(g.k)
	for l := 0; l < g.k; l += step {
		part.a, part.b, part.k = g.a.From(0, l), g.b.From(l, 0), min(step, g.k-l)
		for i := top; i < bottom; i += blockRows {
			if end := min(bottom, i+blockRows); pairs() {
				pairBlock(&part, i, end, left, right)
			} else {
				roundBlock(&part, i, end, left, right)
			}
		}
		part.d = g.c
	}
}
