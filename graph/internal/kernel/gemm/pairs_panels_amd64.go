//go:build amd64 && !nosimd

package gemm

import "sync"

// pairPanel holds panelWidth columns of b, or rows of a, for a block of k. Its rows are pairs of numbers that are
// adjacent in k, rounded to bfloat16.
type pairPanel [depthMax / 2 * panelWidth]float32

const panelWidth, stripWidth = 96, 32

type (
	sharedPanels [32]pairPanel                       // of the operand that all threads share: 1.5 MiB
	ownPanels    [blockRows/panelWidth + 1]pairPanel // of a part of the other operand; of both on a single thread
)

var (
	sharedPairs = sync.Pool{New: func() any { return new(sharedPanels) }}
	ownPairs    = sync.Pool{New: func() any { return new(ownPanels) }}
)

// pairBlock computes a part of c, with at most blockRows rows and k at most depthMax, by VDPBF16PS on the caller's
// thread.
func pairBlock(g *product[float32], top, bottom, left, right int) {
	g.checkBounds(bottom-1, right-1)
	panels := ownPairs.Get().(*ownPanels)
	defer ownPairs.Put(panels)
	a, b := panels[:blockRows/panelWidth], panels[blockRows/panelWidth:]
	for i := top; i < bottom; i += panelWidth {
		packPairs(&a[(i-top)/panelWidth], g.a.T(), g.k, i, min(panelWidth, bottom-i))
	}
	part := product[float32]{m: bottom - top, k: g.k, alpha: g.alpha, d: g.d, c: g.c}
	for j := left; j < right; j += panelWidth {
		part.n = min(panelWidth, right-j)
		packPairs(&b[0], g.b, g.k, j, part.n)
		mulPanels(&part, a, 0, top, b, 0, j)
	}
}

// mulPanels multiplies m rows of a by n columns of b into c from (top, left) on. The rows and columns are in panels,
// beginning with row i and column j, which are multiples of panelWidth. A strip of b is multiplied by as many rows at a
// time as fit into a cache of 1 MiB.
func mulPanels(g *product[float32], a []pairPanel, i, top int, b []pairPanel, j, left int) {
	for high := 0; high < g.m; high += blockRows {
		for x := 0; x < g.n; x += stripWidth {
			n := min(stripWidth, g.n-x)
			strip := &b[(j+x)/panelWidth][x%panelWidth]
			for y := high; y < min(g.m, high+blockRows); y += panelWidth {
				m := min(panelWidth, g.m-y)
				rows := &a[(i+y)/panelWidth][0]
				colsBF16(g.c.pointer(top+y, left+x), g.c.Stride, rows, panelWidth, strip, panelWidth,
					g.d.pointerOrNil(top+y, left+x), g.d.Stride, (g.k+1)/2, m, n, g.alpha)
			}
		}
	}
}

// packPairs packs n columns of b from column j on.
func packPairs(to *pairPanel, b Matrix[float32], k, j, n int) {
	if !b.Trans {
		pairRowsBF16(&to[0], b.pointer(0, j), b.Stride, k, n)
		return
	}
	for i := 0; i < n; i += 16 {
		pairColumnsBF16(&to[i], b.pointer(0, j+i), b.Stride, k, min(16, n-i))
	}
}
