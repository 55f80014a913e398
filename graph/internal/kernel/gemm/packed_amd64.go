//go:build amd64 && !nosimd

package gemm

const packedDepth = depthMax

// blockDepth is depth, so that sums are those of every product.
func blockDepth(k int) int { return depth(k) }

// unpack writes rows from … to of a strip to dst.
func (w *Packed) unpack(dst []float32, strip, from, to int) {
	at := (strip*w.K + from) * stripCols
	switch {
	case gemmBest == nil || from == to:
		w.unpackPlain(dst, strip, from, to)
	case w.half != nil:
		gemmBest.unpackBF16(&dst[0], &w.half[at], to-from)
	default:
		gemmBest.unpackInt8(&dst[0], &w.eighth[at], &w.scales[strip*stripCols], to-from)
	}
}

// row computes a strip's columns of y, which is a single row, in assembly, or tells that it cannot.
func (t *packedTask) row(strip int) bool {
	if gemmBest == nil || t.w.K == 0 {
		return false
	}
	left := strip * stripCols
	right := left + stripCols
	if right <= t.w.N {
		var d *float32
		if t.bias != nil {
			d = &t.bias[left:right][0]
		}
		t.wholeRow(strip, &t.y[left:right][0], d)
		return true
	}
	filled := unpacked.Get().(*block) // with zeros
	defer unpacked.Put(filled)
	y := filled[:stripCols]
	clear(y)
	if t.bias != nil {
		copy(y, t.bias[left:t.w.N])
	}
	t.wholeRow(strip, &y[0], &y[0])
	copy(t.y[left:t.w.N], y)
	return true
}

// wholeRow computes d + x·w for all columns of a strip.
func (t *packedTask) wholeRow(strip int, y, d *float32) {
	w := t.w
	step := depth(w.K)
	for l := 0; l < w.K; l += step {
		k := min(step, w.K-l)
		x, at := &t.x[l : l+k][0], (strip*w.K+l)*stripCols
		if w.half != nil {
			gemmBest.rowBF16(y, x, &w.half[at], d, k)
		} else {
			gemmBest.rowInt8(y, x, &w.eighth[at], &w.scales[strip*stripCols], d, k)
		}
		d = y
	}
}
