//go:build (amd64 || arm64) && !nosimd

package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// microkernels holds the parts of the matrix product in one instruction set, described in gemm_stubs_amd64.go and
// gemm_stubs_arm64.go.
type microkernels struct {
	lanes          int // numbers in a vector
	height         int // of a tile of c in registers, which is two vectors wide
	rows, cols     tileKernel
	row            func(c *float32, a *float32, lda int, b *float32, ldb int, d *float32, k, n int, alpha float32)
	dots           func(c *float32, a *float32, b *float32, ldb int, d *float32, k, n int, alpha float32)
	copyStrip      func(dst, src *float32, ld, k int)
	transposeStrip func(dst, src *float32, ld, n int)
	peak           func(n int)
	transpose      func(dst *float32, apart int, src *float32, ld, n int) // only if rows is nil
	roundedRow     func(c *float32, a *float32, lda int, b *float32, ldb int, d *float32, k, n int, alpha float32)
	round          func(to, from []float32) // to bfloat16
	strip          func(to, from []float32) // what is multiplied in place of a copied strip of b; nil if that is
}

// tileKernel computes d + alpha·a·b → c.
type tileKernel = func(
	c *float32, ldc int, a *float32, lda int, b *float32, ldb int, d *float32, ldd int, k, m, n int, alpha float32)

// tile32 computes a part of c.
func tile32(g *product[float32], top, bottom, left, right int) {
	gemmBest.tile(g, top, bottom, left, right)
}

// roundedTile computes a part of c, with the numbers of b rounded to bfloat16: when strips are copied, or where a row
// is multiplied.
func roundedTile(g *product[float32], top, bottom, left, right int) {
	if gemmBest == nil {
		plainTile(g, top, bottom, left, right, kernel.Bfloat16)
		return
	}
	s := *gemmBest
	s.row, s.strip = s.roundedRow, s.round
	s.tile(g, top, bottom, left, right)
}

// roundNumbers rounds numbers to bfloat16.
func roundNumbers(to, from []float32) {
	if gemmBest == nil {
		kernel.Bfloat16(to, from)
		return
	}
	gemmBest.round(to, from)
}

// peakLoops returns the inner loops of a product, for measuring the peak rate.
func peakLoops() []peakLoop {
	if gemmBest == nil {
		return plainPeaks()
	}
	return []peakLoop{{gemmBest.peak, float64(2 * 24 * gemmBest.lanes)}}
}

// mirrorRows copies the entries below the diagonal of the first rows of c (n, n) above it, and returns the number of
// these rows. It transposes two vectors of rows at a time in a buffer.
func mirrorRows(n int, c Matrix[float32]) (rows int) {
	if gemmBest == nil {
		return 0
	}
	buffer := panels.Get().(*panel)
	defer panels.Put(buffer)
	lanes := gemmBest.lanes
	width := 2 * lanes
	for ; rows+width <= n; rows += width {
		for from := 0; from < rows+width; from += depthMax {
			cols := min(depthMax, rows+width-from)
			for half := range 2 {
				gemmBest.transposeStrip(
					&buffer.b[half*lanes], c.pointer(rows+half*lanes, from), c.Stride, cols/lanes)
			}
			for j := from; j < from+cols; j++ {
				skip := max(0, j+1-rows) // entries on and below the diagonal
				copy(c.Data[j*c.Stride+rows+skip:], buffer.b[(j-from)*width+skip:(j-from+1)*width])
			}
		}
	}
	return rows
}

// tile computes rows top … bottom and columns left … right of c: in plain Go if s is nil. None of g's sizes is 0.
func (s *microkernels) tile(g *product[float32], top, bottom, left, right int) {
	if s == nil {
		plainTile(g, top, bottom, left, right, nil)
		return
	}
	g.checkBounds(bottom-1, right-1)
	g.scale(top, bottom, left, right)
	if g.m == 1 && g.b.Trans && (!g.a.Trans || g.a.Stride == 1) {
		s.dots(g.c.pointer(0, left), g.a.pointer(0, 0), g.b.pointer(0, left), g.b.Stride, g.d.pointerOrNil(0, left),
			g.k, right-left, g.alpha)
		return
	}
	if bottom-top == 1 && !g.b.Trans && s.row != nil {
		s.single(g, top, left, right)
		return
	}
	buffer := panels.Get().(*panel)
	defer panels.Put(buffer)
	step := depth(g.k)
	for l := 0; l < g.k; l += step {
		k := min(step, g.k-l)
		if !s.packs(g.a, bottom-top, right-left, k) {
			s.strips(g, buffer, g.a.From(top, l), bottom-top, l, k, top, bottom, left, right)
			continue
		}
		rows := cuts.rows / packedMax * packedMax
		for i := top; i < bottom; i += rows {
			m := min(rows, bottom-i)
			s.packLeft(buffer, g.a.From(i, l), m, k)
			panels := Matrix[float32]{buffer.a[:], packedMax, true}
			s.strips(g, buffer, panels, packedMax, l, k, i, i+m, left, right)
		}
	}
}

// single computes a part of row i of c, whose b is stored by rows.
func (s *microkernels) single(g *product[float32], i, left, right int) {
	apart, step, d := 1, depth(g.k), g.d
	if g.a.Trans {
		apart = g.a.Stride
	}
	for l := 0; l < g.k; l += step {
		s.row(g.c.pointer(i, left), g.a.pointer(i, l), apart, g.b.pointer(l, left), g.b.Stride,
			d.pointerOrNil(i, left), min(step, g.k-l), right-left, g.alpha)
		d = g.c
	}
}

// checkBounds panics if an operand ends before the entry needed for row i, column j of c: assembly does not check.
func (g *product[T]) checkBounds(i, j int) {
	_ = *g.a.pointer(i, g.k-1)
	_ = *g.b.pointer(g.k-1, j)
	_ = *g.c.pointer(i, j)
	_ = g.d.pointerOrNil(i, j)
}

// packs reports whether m rows and k columns of a are copied, for n columns of b. A matrix stored by rows must be
// copied to columns if the set has no kernel for rows, unless it is a single row. In a matrix stored by columns, the
// cache lines of long rows are evicted before the next tile reads their rest, unless a tile covers most of a line. Even
// then a copy gains where the third cache is far, if deep columns meet many of b, or if multiples of 4 KiB evict one
// another from the second cache as well.
func (s *microkernels) packs(a Matrix[float32], m, n, k int) bool {
	switch {
	case !a.Trans:
		return s.rows == nil && m > 1
	case m <= s.height || a.Stride <= 384:
		return false
	case s.lanes < 16:
		return true
	}
	return cuts.far && (n >= copiedCols && k > depthMax/2 || n >= maxCols && a.Stride%1024 == 0)
}

// strips adds the products of k … of rows top … bottom, strip by strip of b. a begins with the first of them. It
// consists of panels of the given number of rows, depthMax columns apart.
func (s *microkernels) strips(
	g *product[float32], buffer *panel, a Matrix[float32], panel, l, k, top, bottom, left, right int,
) {
	d := g.d
	if l > 0 {
		d = g.c
	}
	if !a.Trans && s.rows == nil { // a single row is the same as columns of one number
		a.Stride, a.Trans = 1, true
	}
	kernel := s.rows
	if a.Trans {
		kernel = s.cols
	}
	direct := s.strip == nil && s.direct(g.b, bottom-top)
	for j := left; j < right; {
		n := min(2*s.lanes, right-j)
		b, ldb := &buffer.b[0], 2*s.lanes
		if direct && n == ldb {
			b, ldb = g.b.pointer(l, j), g.b.Stride
		} else {
			s.pack(buffer, g.b, l, j, k, n)
			if s.strip != nil {
				s.strip(buffer.b[:k*ldb], buffer.b[:k*ldb])
			}
		}
		for i := top; i < bottom; i += panel {
			kernel(g.c.pointer(i, j), g.c.Stride, &a.Data[(i-top)*depthMax], a.Stride, b, ldb,
				d.pointerOrNil(i, j), d.Stride, k, min(panel, bottom-i), n, g.alpha)
		}
		j += n
	}
}

// pointer returns the address of entry (i, j).
func (m *Matrix[T]) pointer(i, j int) *T {
	if m.Trans {
		i, j = j, i
	}
	return &m.Data[i*m.Stride+j]
}

func (m *Matrix[T]) pointerOrNil(i, j int) *T {
	if m.Data == nil {
		return nil
	}
	return m.pointer(i, j)
}
