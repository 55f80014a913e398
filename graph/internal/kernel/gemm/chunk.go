package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/cache"

// panelRows is how many rows of c are computed at a time on this processor.
var panelRows = rowsFor(cache.Second())

const (
	maxRows, minRows = 384, 96
	maxCols, minCols = 128, 32
	vocabulary       = 16 * depthMax
	stripBytes       = 4 * 2 * 16 * depthMax // of vectors of AVX-512
)

// rowsFor is how many rows of c are computed at a time where a second cache of that many bytes is a thread's own, so
// that it holds a block of a, which every strip of b meets again, the part of c that they give, and two strips, one
// behind the other. More than maxRows gain nothing, because a strip is copied for all of them. A strip is as deep as it
// is whatever the first cache holds: the depth decides bits, which are the same on every processor.
func rowsFor(bytes int) int {
	rows := (bytes - 2*stripBytes) / (4 * (depthMax + maxCols))
	return min(maxRows, max(minRows, rows/12*12))
}

// chunk returns the size of the part of c that a thread computes at a time: it has many rows, at most mostRows, so that
// packing b costs little, and few operations, so that a stopped thread delays little, unless k is a vocabulary: then
// its rows of a come from memory, and it is wide, so that they are seldom read again. And there are enough chunks for
// all threads. 12 and 32 are multiples of the height and width of every tile; a single row is taken 128 columns at a
// time.
//
// A thread alone takes all columns, and so many rows that b is hardly copied twice: a then comes from the third cache,
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
	for cols = maxCols; m > 1 && cols > minCols && (2*min(m, mostRows)*cols*k > few || parts*((n+cols-1)/cols) < enough); {
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
