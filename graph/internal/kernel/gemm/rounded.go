package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// Rounded is the products of a and b rounded to bfloat16, as bfloat16 has it, while they are packed; alpha, c, d and all
// sums stay float32.
//
// The products of an entry are added one by one, each rounded once, in blocks of at most 256, and then the blocks, whether
// VDPBF16PS does it or multiplications and additions of float32: where there is assembly the bits are the same, unless a
// sum on the way is below 2⁻¹²⁶, the smallest normal number, which VDPBF16PS takes for 0.
type Rounded struct{}

// String says how this processor multiplies.
func (Rounded) String() string {
	if pairs {
		return "bfloat16 by VDPBF16PS"
	}
	return "bfloat16 by rounding"
}

func (Rounded) Mul(p *kernel.Pool, m, n, k int, alpha float32, a, b Matrix[float32], beta float32, c Matrix[float32]) {
	g := rounded{product: product[float32]{m, n, k, alpha, a, b, beta, Matrix[float32]{}, c}}
	if beta != 0 {
		g.d = c
	}
	g.run(p)
}

func (Rounded) MulAdd(p *kernel.Pool, m, n, k int, alpha float32, a, b, d, c Matrix[float32]) {
	g := rounded{product: product[float32]{m, n, k, alpha, a, b, 1, d, c}}
	g.run(p)
}

func (Rounded) MulSerial(m, n, k int, alpha float32, a, b Matrix[float32], beta float32, c Matrix[float32]) {
	g := rounded{product: product[float32]{m, n, k, alpha, a, b, beta, Matrix[float32]{}, c}}
	if beta != 0 {
		g.d = c
	}
	g.tile(0, m, 0, n)
}

// rounded is a product in chunks, as a task is.
type rounded struct {
	product[float32]
	rows, cols, across int
}

func (g *rounded) run(p *kernel.Pool) {
	if cost := 2 * g.n * g.k * (g.m + 8); p.Threads() == 1 || cost < 2*SerialCost {
		g.tile(0, g.m, 0, g.n)
		return
	}
	g.rows, g.cols = roundedChunk(g.m, g.n, p.Threads())
	g.across = (g.n + g.cols - 1) / g.cols
	kernel.Spread(p, (g.m+g.rows-1)/g.rows*g.across, 1, *g)
}

func (g *rounded) Do(i, _ int) {
	top, left := i/g.across*g.rows, i%g.across*g.cols
	g.tile(top, min(g.m, top+g.rows), left, min(g.n, left+g.cols))
}

// roundedChunk is the size of the part of c that a thread computes at a time. Both operands are packed for every chunk, so
// it is about as high as wide and as large as it may be, unless the threads would not get equally many. 48 is a multiple
// of the height of tiles, 96 of their width, too.
func roundedChunk(m, n, threads int) (rows, cols int) {
	rows, cols = roundUp(min(m, blockRows), 48), roundUp(min(n, 2*blockCols), 96)
	for rows > 48 || cols > 96 {
		chunks := (m + rows - 1) / rows * ((n + cols - 1) / cols)
		if chunks >= 3*threads && (chunks%threads == 0 || chunks >= 8*threads) {
			break
		}
		if rows >= cols || cols == 96 {
			rows = roundUp(rows/2, 48)
		} else {
			cols = roundUp(cols/2, 96)
		}
	}
	return rows, cols
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// tile computes rows top … bottom and columns left … right of c, block by block of k.
func (g *rounded) tile(top, bottom, left, right int) {
	if top >= bottom || left >= right {
		return
	}
	if g.k == 0 || g.beta != 0 && g.beta != 1 {
		g.addend(top, bottom, left, right)
	}
	part := product[float32]{alpha: g.alpha, a: g.a, b: g.b, d: g.d, c: g.c}
	step := depth(g.k)
	for l := 0; l < g.k; l += step {
		part.a, part.b, part.k = g.a.From(0, l), g.b.From(l, 0), min(step, g.k-l)
		for i := top; i < bottom; i += blockRows {
			m := min(blockRows, bottom-i)
			if !pairBlock(&part, i, i+m, left, right) {
				roundBlock(&part, i, i+m, left, right)
			}
		}
		part.d = g.c
	}
}
