package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/cache"

// cuts is how this processor cuts products.
var cuts = cutsFor(cache.Second())

// cut is how a product is cut for the caches.
type cut struct {
	rows int  // of c that are computed at a time
	far  bool // what leaves the second cache returns from the third slowly
}

const (
	maxRows, minRows = 384, 96
	maxCols, minCols = 128, 32
	vocabulary       = 16 * depthMax
	stripBytes       = 4 * 2 * 16 * depthMax // for vectors of AVX-512
	nearBytes        = 1 << 20
	copiedCols       = 3 * maxCols // columns of b for which a transposed a is copied
)

// cutsFor returns the cut for a second cache of the given size that some threads share. A thread's share holds a block
// of a, which every strip of b meets again, the corresponding part of c, and two consecutive strips. More than maxRows
// gain nothing, because a strip is copied for all of them. The depth of a strip does not depend on the first cache: it
// decides bits, which are the same on every processor.
//
// A second cache of more than 1 MiB makes up for a distant third one, as in Intel's servers. AMD's have at most 1 MiB,
// and read a from the third cache as fast as they multiply.
func cutsFor(bytes, threads int) cut {
	rows := (bytes/threads - 2*stripBytes) / (4 * (depthMax + maxCols))
	return cut{min(maxRows, max(minRows, rows/12*12)), bytes > nearBytes}
}

// chunk returns the size of the part of c that a thread computes at a time. It has many rows, at most the rows of the
// cut, so that packing b costs little, and few operations, so that a stopped thread delays little. If k is a
// vocabulary, the rows of a come from memory; the part is then wide, so that they are seldom read again. So it is for a
// transposed a if the third cache is far. There are enough chunks for all threads. 12 and 32 are multiples of the
// height and width of every tile; a single row is taken 128 columns at a time.
//
// A single thread takes all columns and enough rows that b is hardly copied twice: a then comes from the third cache,
// but not from memory. If the third cache is far, the block of a stays in the second: it has more rows if k is small.
func (c cut) chunk(m, n, k, threads int, transposed bool) (rows, cols int) {
	switch {
	case threads == 1 && c.far:
		return c.rows * depthMax / depth(k) / 12 * 12, n
	case threads == 1:
		return 8 * c.rows, n
	}
	few, widest := 8<<20, maxCols
	if c.far && transposed {
		few, widest = 256<<20, 2*maxCols
	}
	if k > vocabulary {
		few = max(few, 2*m*n*k/(6*threads))
	}
	parts, enough := (m+c.rows-1)/c.rows, 3*threads
	halve := func() bool {
		return 2*min(m, c.rows)*cols*k > few || parts*((n+cols-1)/cols) < enough
	}
	for cols = widest; m > 1 && cols > minCols && halve(); {
		cols /= 2
	}
	for ; ; parts++ {
		rows = (m + 12*parts - 1) / (12 * parts) * 12
		chunks := parts * ((n + cols - 1) / cols)
		if chunks >= enough || rows <= 96 && chunks >= 2*threads || rows <= 24 {
			return rows, cols
		}
	}
}
