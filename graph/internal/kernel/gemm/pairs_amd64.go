//go:build amd64 && !nosimd

package gemm

import (
	"sync"

	"golang.org/x/sys/cpu"
)

// pairs says whether VDPBF16PS multiplies; tests switch it off.
var pairs = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512BF16 && cpu.X86.HasBMI2

// pairPanel is what one thread packs operands into: pairs of numbers that follow each other in k, rounded to bfloat16, as
// rows of panelWidth pairs, each of another column of b or row of a.
type pairPanel struct {
	a [blockRows / panelWidth][depthMax / 2 * panelWidth]float32
	b [depthMax / 2 * panelWidth]float32
}

const panelWidth, stripWidth = 96, 32

var pairPanels = sync.Pool{New: func() any { return new(pairPanel) }}

// pairBlock computes a part of c, with at most blockRows rows and k at most depthMax, by VDPBF16PS, or tells that it cannot.
func pairBlock(g *product[float32], top, bottom, left, right int) bool {
	if !pairs {
		return false
	}
	g.checkBounds(bottom-1, right-1)
	panel := pairPanels.Get().(*pairPanel)
	defer pairPanels.Put(panel)
	for i := top; i < bottom; i += panelWidth {
		packPairs(&panel.a[(i-top)/panelWidth], g.a.T(), g.k, i, min(panelWidth, bottom-i))
	}
	for j := left; j < right; j += panelWidth {
		packPairs(&panel.b, g.b, g.k, j, min(panelWidth, right-j))
		for from := j; from < min(right, j+panelWidth); from += stripWidth {
			strip, n := &panel.b[from-j], min(stripWidth, right-from)
			for i := top; i < bottom; i += panelWidth {
				a := &panel.a[(i-top)/panelWidth]
				colsBF16(g.c.pointer(i, from), g.c.Stride, &a[0], panelWidth, strip, panelWidth, g.d.pointerOrNil(i, from), g.d.Stride,
					(g.k+1)/2, min(panelWidth, bottom-i), n, g.alpha)
			}
		}
	}
	return true
}

// packPairs packs n columns of b from column j on.
func packPairs(to *[depthMax / 2 * panelWidth]float32, b Matrix[float32], k, j, n int) {
	if !b.Trans {
		pairRowsBF16(&to[0], b.pointer(0, j), b.Stride, k, n)
		return
	}
	for i := 0; i < n; i += 16 {
		pairColumnsBF16(&to[i], b.pointer(0, j+i), b.Stride, k, min(16, n-i))
	}
}
