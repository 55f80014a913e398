//go:build amd64 && !nosimd

package gemm

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"golang.org/x/sys/cpu"
)

// pairs says whether VDPBF16PS multiplies; tests switch it off.
var pairs = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512BF16 && cpu.X86.HasBMI2

// pairTask is a product by VDPBF16PS. The smaller operand is packed by all threads, as much of it as they have room
// for; then each packs parts of the other one and multiplies them by all of the first, so that few numbers are packed
// twice.
type pairTask struct {
	product[float32]
	panels     *sharedPanels
	left       bool // whether it is a that is shared
	from, to   int  // its rows, or b's columns, that are packed, in across panels
	across     int
	l, end     int // of k, in blocks of step
	step       int
	size, wide int // of the other one's parts, and of the shared one's, of which there are cuts
	cuts       int
}

// mulPairs computes a product, none of whose sizes is 0, on some of the pool's threads, and returns whether it can.
func mulPairs(p *kernel.Pool, threads int, g *product[float32]) bool {
	if !pairs {
		return false
	}
	g.checkBounds(g.m-1, g.n-1)
	panels := sharedPairs.Get().(*sharedPanels)
	defer sharedPairs.Put(panels)
	t := pairTask{product: *g, panels: panels, left: g.m <= g.n, step: depth(g.k)}
	smaller, larger := min(g.m, g.n), max(g.m, g.n)
	for ; t.from < smaller; t.from = t.to {
		t.to = min(smaller, t.from+len(panels)*panelWidth)
		t.across = parts(t.to-t.from, panelWidth)
		t.size, t.wide = roundedChunk(larger, t.to-t.from, !t.left, threads)
		t.cuts = parts(t.to-t.from, t.wide)
		for t.l = 0; t.l < g.k; t.l = t.end {
			t.end = min(g.k, t.l+len(panels)/t.across*t.step)
			kernel.SpreadOn(p, threads, parts(t.end-t.l, t.step)*t.across, 1, pairPacking(t))
			kernel.SpreadOn(p, threads, parts(larger, t.size)*t.cuts, 1, t)
		}
	}
	return true
}

// pairPacking is the task's first half: its i-th panel.
type pairPacking pairTask

func (t *pairPacking) Do(i, _ int) {
	x, l, j := t.b, t.l+i/t.across*t.step, t.from+i%t.across*panelWidth
	if t.left {
		x = t.a.T()
	}
	packPairs(&t.panels[i], x.From(l, 0), min(t.step, t.end-l), j, min(panelWidth, t.to-j))
}

// Do is its second half: a part of the other operand is packed, block by block of k, and multiplied.
func (t *pairTask) Do(i, _ int) {
	own := ownPairs.Get().(*ownPanels)
	defer ownPairs.Put(own)
	x, top, at := t.a.T(), i/t.cuts*t.size, i%t.cuts*t.wide
	if t.left {
		x = t.b
	}
	size, wide := min(t.size, max(t.m, t.n)-top), min(t.wide, t.to-t.from-at)
	for l, shared := t.l, t.panels[:]; l < t.end; l, shared = l+t.step, shared[t.across:] {
		k := min(t.step, t.end-l)
		for j := 0; j < size; j += panelWidth {
			packPairs(&own[j/panelWidth], x.From(l, 0), k, top+j, min(panelWidth, size-j))
		}
		part := product[float32]{k: k, alpha: t.alpha, c: t.c, d: t.d}
		if l > 0 {
			part.d = t.c
		}
		if t.left {
			part.m, part.n = wide, size
			mulPanels(&part, shared, at, t.from+at, own[:], 0, top)
		} else {
			part.m, part.n = size, wide
			mulPanels(&part, own[:], 0, top, shared, at, t.from+at)
		}
	}
}
