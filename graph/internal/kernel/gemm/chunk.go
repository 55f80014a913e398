package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/cache"

// panelRows is the number of rows of c that are computed at a time on this processor.
var panelRows = rowsFor(cache.Second())

const (
	maxRows, minRows = 384, 96
	maxCols, minCols = 128, 32
	vocabulary       = 16 * depthMax
	stripBytes       = 4 * 2 * 16 * depthMax // for vectors of AVX-512
)

// rowsFor returns the number of rows of c that are computed at a time if a thread has a second cache of the given size.
// The cache then holds a block of a, which every strip of b meets again, the corresponding part of c, and two
// consecutive strips. More than maxRows gain nothing, because a strip is copied for all of them. The depth of a strip
// does not depend on the first cache: it decides bits, which are the same on every processor.
func rowsFor(bytes int) int {
	rows := (bytes - 2*stripBytes) / (4 * (depthMax + maxCols))
	return min(maxRows, max(minRows, rows/12*12))
}

// chunk returns the size of the part of c that a thread computes at a time. It has many rows, at most mostRows, so that
// packing b costs little, and few operations, so that a stopped thread delays little. If k is a vocabulary, the rows of
// a come from memory; the part is then wide, so that they are seldom read again. There are enough chunks for all
// threads. 12 and 32 are multiples of the height and width of every tile; a single row is taken 128 columns at a time.
//
// A single thread takes all columns, and enough rows that b is hardly copied twice: a then comes from the third cache,
// but not from memory.
func chunk(m, n, k, threads, mostRows int) (rows, cols int) {
	if threads == 1 {
		return 8 * mostRows, n
	}
	few := 8 << 20
	if k > vocabulary {
		few = max(few, 2*m*n*k/(6*threads))
	}
	parts, enough := (m+mostRows-1)/mostRows, 3*threads
	halve := func() bool {
		return 2*min(m, mostRows)*cols*k > few || parts*((n+cols-1)/cols) < enough
	}
	for cols = maxCols; m > 1 && cols > minCols && halve(); {
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
