package gemm

import (
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// MulPacked computes y = x·w + bias for x (m, K), w (K, N) and y (m, N). The bias is optional. The result has the same
// bits as MulAdd with the matrix from Unpack: the sums are float32.
func MulPacked(p *kernel.Pool, m int, x []float32, w *Packed, bias, y []float32) {
	t := packedTask{m, x, w, bias, y}
	threads := kernel.Worth[float32](p, cost(m, w.N, w.K))
	if threads == 1 {
		t.Do(0, strips(w.N))
		return
	}
	kernel.SpreadOn(p, threads, strips(w.N), max(1, strips(w.N)/(16*threads)), t)
}

// packedTask holds the arguments of MulPacked.
type packedTask struct {
	m    int
	x    []float32
	w    *Packed
	bias []float32
	y    []float32
}

func (t *packedTask) Do(from, to int) {
	for strip := from; strip < to; strip++ {
		if t.m > 1 || !t.row(strip) {
			t.rows(strip)
		}
	}
}

// block holds some rows of a strip in float32.
type block [depthMax * stripCols]float32

// unpacked are blocks that are reused between products.
var unpacked = sync.Pool{New: func() any { return new(block) }}

// rows computes a strip's columns of y, block by block of its rows.
func (t *packedTask) rows(strip int) {
	w, left := t.w, strip*stripCols
	b := unpacked.Get().(*block)
	defer unpacked.Put(b)
	g := product[float32]{
		m: t.m, n: min(stripCols, w.N-left), alpha: 1, b: Mat(b[:], stripCols), c: Mat(t.y[left:], w.N),
	}
	if t.bias != nil {
		g.beta, g.d = 1, Matrix[float32]{Data: t.bias[left:]} // the same row for every row of y
	}
	if w.K == 0 {
		g.tile(0, g.m, 0, g.n)
		return
	}
	step := depth(w.K)
	for l := 0; l < w.K; l += step {
		g.k, g.a = min(step, w.K-l), Mat(t.x[l:], w.K)
		w.unpack(b[:], strip, l, l+g.k)
		g.tile(0, g.m, 0, g.n)
		g.beta, g.d = 1, g.c
	}
}

// unpackPlain writes rows from … to of a strip to dst.
func (w *Packed) unpackPlain(dst []float32, strip, from, to int) {
	for i := from; i < to; i++ {
		row := dst[(i-from)*stripCols:][:stripCols]
		clear(row)
		for j := range min(stripCols, w.N-strip*stripCols) {
			row[j] = w.at(i, strip*stripCols+j)
		}
	}
}
