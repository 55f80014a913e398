package gemm

import (
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

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

// roundBlock computes a part of c, with at most blockRows rows and k at most depthMax, from rounded copies.
func roundBlock(g *product[float32], top, bottom, left, right int) {
	panel := roundedPanels.Get().(*roundedPanel)
	defer roundedPanels.Put(panel)
	m := bottom - top
	a := rounding(panel.a[:], g.a.From(top, 0), m, g.k)
	for j := left; j < right; j += blockCols {
		n := min(blockCols, right-j)
		// m is not 1, for which the order of the sums differs.
		p := product[float32]{m: 2, n: n, k: g.k, alpha: g.alpha, a: a, c: g.c.From(top, j)}
		p.b = rounding(panel.b[:], g.b.From(0, j), g.k, n)
		if g.d.Data != nil {
			p.beta, p.d = 1, g.d.From(top, j)
		}
		p.tile(0, m, 0, n)
	}
}

// rounding returns a copy of the first rows and columns of m, rounded, in the same order.
func rounding(to []float32, m Matrix[float32], rows, cols int) Matrix[float32] {
	if m.Trans {
		return rounding(to, m.T(), cols, rows).T()
	}
	for i := range rows {
		kernel.Bfloat16(to[i*cols:][:cols], m.Data[i*m.Stride:][:cols])
	}
	return Mat(to, cols)
}
