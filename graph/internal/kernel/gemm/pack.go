//go:build (amd64 || arm64) && !nosimd

package gemm

import "sync"

const packedMax = 96 // number of rows of a in a panel of columns: a multiple of every tile's height

// panel is the buffer into which one thread packs operands.
type panel struct {
	b      [2 * 16 * depthMax]float32  // a strip of b: k rows of two vectors
	a      [maxRows * depthMax]float32 // panels of a
	square [16 * 16]float32
}

// panels are reused between products: a loop that multiplies allocates nothing once every thread has one.
var panels = sync.Pool{New: func() any { return new(panel) }}

// direct reports whether m rows read a strip of b in place. A few tiles are not worth a copy, which mostly waits for
// the third cache. If a cache line holds more than a row of the strip, it would be fetched again for the next strip;
// and rows at distances that are multiples of 4 KiB evict one another from the first cache.
func (s *microkernels) direct(b Matrix[float32], m int) bool {
	tiles := 11
	switch {
	case b.Trans:
		return false
	case s.lanes < 8:
		tiles = 1
	case b.Stride%1024 == 0:
		tiles = 2
	}
	return m <= tiles*s.height
}

// pack copies b's rows l … l+k of columns j … j+n to the buffer, two vectors to a row. The columns after the n-th are
// multiplied too, but never stored.
func (s *microkernels) pack(buffer *panel, b Matrix[float32], l, j, k, n int) {
	width := 2 * s.lanes
	switch {
	case b.Trans:
		s.packTransposed(buffer, b, l, j, k, min(n, s.lanes), 0)
		if n > s.lanes {
			s.packTransposed(buffer, b, l, j+s.lanes, k, n-s.lanes, s.lanes)
		}
	case n == width:
		s.copyStrip(&buffer.b[0], b.pointer(l, j), b.Stride, k)
	default:
		for i := range k {
			copy(buffer.b[i*width:], b.Data[(l+i)*b.Stride+j:][:n])
		}
	}
}

// packTransposed packs n columns of b that are stored as rows to one vector of the strip, from column at on. Incomplete
// squares go through the buffer's square.
func (s *microkernels) packTransposed(buffer *panel, b Matrix[float32], l, j, k, n, at int) {
	full := 0
	if n == s.lanes {
		full = k / s.lanes
		s.transposeStrip(&buffer.b[at], b.pointer(l, j), b.Stride, full)
	}
	for i := full * s.lanes; i < k; i += s.lanes {
		for row := range n {
			copy(buffer.square[row*s.lanes:], b.Data[(j+row)*b.Stride+l+i:][:min(s.lanes, k-i)])
		}
		s.transposeStrip(&buffer.b[2*i*s.lanes+at], &buffer.square[0], s.lanes, 1)
	}
}

// packLeft copies the first m rows and k columns of a to panels in the buffer, by columns. It transposes rows in
// squares.
func (s *microkernels) packLeft(buffer *panel, a Matrix[float32], m, k int) {
	if !a.Trans {
		for i := 0; i < m; i += packedMax {
			s.packRows(buffer.a[i*depthMax:], a.From(i, 0), min(packedMax, m-i), k)
		}
		return
	}
	for l := range k {
		column := a.Data[l*a.Stride:][:m]
		for i := 0; i < m; i += packedMax {
			copy(buffer.a[i*depthMax+l*packedMax:], column[i:min(m, i+packedMax)])
		}
	}
}

// packRows copies at most packedMax rows of a to a panel.
func (s *microkernels) packRows(panel []float32, a Matrix[float32], m, k int) {
	full, turned := m/s.lanes*s.lanes, k/s.lanes
	for i := 0; i < full; i += s.lanes {
		s.transpose(&panel[i], packedMax, a.pointer(i, 0), a.Stride, turned)
	}
	for i := range m {
		from := 0
		if i < full {
			from = turned * s.lanes
		}
		for l := from; l < k; l++ {
			panel[l*packedMax+i] = a.Data[i*a.Stride+l]
		}
	}
}
