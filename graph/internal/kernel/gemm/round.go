package gemm

import "sync"

const (
	depthMax             = 256 // depth of a strip of b: with rows of two vectors of AVX-512, it has 32 KiB
	blockRows, blockCols = 768, 192
)

// Depth returns the number of terms of a block, when Mul adds up k terms, which is not 0. In float64, and in plain Go,
// the blocks make no difference.
func Depth(k int) int { return depth(k) }

// depth splits k, which is not 0, evenly into blocks of at most depthMax. The products of a block are added in order,
// then the blocks. The result therefore depends in no bit on the instruction set or on how c was split.
func depth(k int) int {
	blocks := (k + depthMax - 1) / depthMax
	return ((k+blocks-1)/blocks + 15) &^ 15
}

// roundedPanel is the buffer into which one thread rounds operands.
type roundedPanel struct {
	a [blockRows * depthMax]float32
	b [depthMax * blockCols]float32
}

var roundedPanels = sync.Pool{New: func() any { return new(roundedPanel) }}

// roundBlock computes a part of c, with at most blockRows rows and k at most depthMax. It rounds a in a copy. It rounds
// b while its strips are copied; only for a few rows, which read the rows of b in place, it copies parts of these,
// since rows that lie apart come from memory slowly in pieces as narrow as a strip.
func roundBlock(g *product[float32], top, bottom, left, right int) {
	panel := roundedPanels.Get().(*roundedPanel)
	defer roundedPanels.Put(panel)
	m := bottom - top
	p := product[float32]{m: max(2, m), k: g.k, alpha: g.alpha} // for m = 1 the order of the sums differs
	p.a = rounding(panel.a[:], g.a.From(top, 0), m, g.k)
	copied := !g.b.Trans && 1 < m && m <= fewRows
	for j := left; j < right; j += p.n {
		p.n, p.b, p.c = right-j, g.b.From(0, j), g.c.From(top, j)
		if g.d.Data != nil {
			p.beta, p.d = 1, g.d.From(top, j)
		}
		if !copied {
			roundedTile(&p, 0, m, 0, p.n)
			break
		}
		p.n = min(blockCols, p.n)
		p.b = rounding(panel.b[:], p.b, g.k, p.n)
		p.tile(0, m, 0, p.n)
	}
}

// fewRows is the number of rows up to which parts of the rows of b are copied.
const fewRows = 32

// rounding returns a copy of the first rows and columns of m, rounded, in the same order.
func rounding(to []float32, m Matrix[float32], rows, cols int) Matrix[float32] {
	if m.Trans {
		return rounding(to, m.T(), cols, rows).T()
	}
	if m.Stride == cols {
		roundNumbers(to[:rows*cols], m.Data[:rows*cols])
		return Mat(to, cols)
	}
	for i := range rows {
		roundNumbers(to[i*cols:][:cols], m.Data[i*m.Stride:][:cols])
	}
	return Mat(to, cols)
}
