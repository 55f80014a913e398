//go:build (amd64 || arm64) && !nosimd

package gemm

// packedKernels holds the parts of a product with a Packed matrix in one instruction set, described in
// gemm_stubs_amd64.go and gemm_stubs_arm64.go.
type packedKernels struct {
	rowBF16    func(c *float32, a *float32, half *uint16, d *float32, k int)
	rowInt8    func(c *float32, a *float32, eighth *int8, scale *float32, d *float32, k int)
	unpackBF16 func(dst *float32, half *uint16, k int)
	unpackInt8 func(dst *float32, eighth *int8, scale *float32, k int)
}

// unpack writes rows from … to of a strip to dst.
func (w *Packed) unpack(dst []float32, strip, from, to int) {
	at, set := (strip*w.K+from)*stripCols, packedBest()
	switch {
	case set == nil:
		w.unpackPlain(dst, strip, from, to)
	case w.half != nil:
		set.unpackBF16(&dst[0], &w.half[at], to-from)
	default:
		set.unpackInt8(&dst[0], &w.eighth[at], &w.scales[strip*stripCols], to-from)
	}
}

// row computes a strip's columns of y, which is a single row, in assembly, and reports whether it can.
func (t *packedTask) row(strip int) bool {
	set := packedBest()
	if set == nil || t.w.K == 0 {
		return false
	}
	left := strip * stripCols
	right := left + stripCols
	if right <= t.w.N {
		var d *float32
		if t.bias != nil {
			d = &t.bias[left:right][0]
		}
		t.fullStrip(set, strip, &t.y[left:right][0], d)
		return true
	}
	filled := unpacked.Get().(*block) // y, filled up with zeros
	defer unpacked.Put(filled)
	y := filled[:stripCols]
	clear(y)
	if t.bias != nil {
		copy(y, t.bias[left:t.w.N])
	}
	t.fullStrip(set, strip, &y[0], &y[0])
	copy(t.y[left:t.w.N], y)
	return true
}

// fullStrip computes d + x·w for all columns of a strip.
func (t *packedTask) fullStrip(set *packedKernels, strip int, y, d *float32) {
	w := t.w
	step := depth(w.K)
	for l := 0; l < w.K; l += step {
		k := min(step, w.K-l)
		x, at := &t.x[l : l+k][0], (strip*w.K+l)*stripCols
		if w.half != nil {
			set.rowBF16(y, x, &w.half[at], d, k)
		} else {
			set.rowInt8(y, x, &w.eighth[at], &w.scales[strip*stripCols], d, k)
		}
		d = y
	}
}
