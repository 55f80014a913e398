//go:build amd64 && !nosimd

package gemm

import (
	"slices"
	"sync"
	"time"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"golang.org/x/sys/cpu"
)

// pairs reports whether products use VDPBF16PS: whether this processor has it, and multiplies by it in less time than
// by rounding and multiplying in float32. Some have half the rate of float32 with it, others twice the rate. The first
// call measures both. Tests replace pairs.
var pairs = sync.OnceValue(func() bool { return hasPairs() && pairTime(pairBlock) < pairTime(roundBlock) })

func hasPairs() bool {
	return cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512BF16 && cpu.X86.HasBMI2
}

// pairTime returns the least time of some products, each of which takes about 0.1 ms. One way takes twice as long as
// the other or more, so the answer is the same on a busy machine.
func pairTime(block func(g *product[float32], top, bottom, left, right int)) time.Duration {
	const m, n, k, tries = 192, 192, depthMax, 8
	ones, least := slices.Repeat([]float32{1}, max(m, n)*k), time.Hour
	g := &product[float32]{k: k, alpha: 1, a: Mat(ones, k), b: Mat(ones, n), c: Mat(make([]float32, m*n), n)}
	for range tries {
		start := time.Now()
		block(g, 0, m, 0, n)
		least = min(least, time.Since(start))
	}
	return least
}

// pairTask is a product by VDPBF16PS. All threads pack the smaller operand together, as much of it as fits into the
// shared panels. Then each thread packs parts of the other operand and multiplies them by the entire shared part, so
// that few numbers are packed twice.
type pairTask struct {
	product[float32]
	panels     *sharedPanels
	left       bool // a is the shared operand
	from, to   int  // the packed rows of a or columns of b, in across panels
	across     int
	l, end     int // range of k, in blocks of step
	step       int
	size, wide int // size of a part of the other operand, and of the shared one, which has cuts parts
	cuts       int
}

// mulPairs computes a product without empty sizes by VDPBF16PS on the given number of the pool's threads.
func mulPairs(p *kernel.Pool, threads int, g *product[float32]) {
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
}

// pairPacking is the first half of a pairTask: it packs panel i of the shared operand.
type pairPacking pairTask

func (t *pairPacking) Do(i, _ int) {
	x, l, j := t.b, t.l+i/t.across*t.step, t.from+i%t.across*panelWidth
	if t.left {
		x = t.a.T()
	}
	packPairs(&t.panels[i], x.From(l, 0), min(t.step, t.end-l), j, min(panelWidth, t.to-j))
}

// Do runs the second half: it packs part i of the other operand, block by block of k, and multiplies it.
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
