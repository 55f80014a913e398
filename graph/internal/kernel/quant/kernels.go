//go:build (amd64 || arm64) && !nosimd

package quant

import "github.com/pedestrian-ml/pedestrian/internal/blocks"

// kernels holds the products in one instruction set, described in quant_stubs_amd64.go and quant_stubs_arm64.go.
type kernels struct {
	q8, q4    wholeKernels
	f32, bf16 floatKernels
	round     func(x *int8, scale *float32, offset *int32, a *float32, k int, apart int)

	// Tiles of float32, optional: eights copies the vectors, and widen converts rows of bfloat16.
	tile   func(y *float32, w *byte, a *float32, d *float32, k int, stride int, n int, apart int)
	eights func(dst *float32, src *float32, k int, apart int)
	widen  func(panel *byte, w *byte, k int)
}

// wholeKernels holds the products with rows of blocks of whole numbers.
type wholeKernels struct {
	rows  func(y *float32, w *byte, x *int8, scale *float32, offset *int32, k int, n int, stride int)
	panel func(panel *byte, w *byte, k int, stride int)
	fours func(y *float32, panel *byte, x *int8, scale *float32, offset *int32, k int, apart int)

	// Of panels of 16 rows, optional.
	widePanel func(panel *byte, w *byte, k int, stride int)
	wideFours func(y *float32, panel *byte, x *int8, scale *float32, offset *int32, d *float32, k int, apart int)
}

// floatKernels holds the products with rows of floats.
type floatKernels struct {
	rows  func(y *float32, w *byte, a *float32, k int, n int, stride int)
	fours func(y *float32, w *byte, a *float32, k int, n int, stride int, lda int, apart int)
}

// The numbers of rows that a kernel computes at a time.
const (
	wholeRows      = 8
	floatRows      = 8 // of one vector
	floatRowsFours = 2 // of four vectors
)

// panelBlock is the number of bytes of a block in a panel: eight scales in float32, and 32 numbers of eight rows.
const panelBlock = 4*wholeRows + 32*wholeRows

// direct reports whether there is assembly for the products with rows of blocks of whole numbers, or of floats.
func direct(whole bool) bool { return best != nil && (!whole || best.q8.rows != nil) }

// roundInto sets the blocks of one of v's vectors to the blocks of x, in assembly.
func (v *vectors) roundInto(place int, x []float32) {
	if k := len(x) / 32; k > 0 {
		_, _, _ = v.n[(k*v.apart-1)*32:], v.scales[(k-1)*v.apart+place], v.offsets[(k-1)*v.apart+place]
		best.round(&v.n[32*place], &v.scales[place], &v.offsets[place], &x[0], k, v.apart)
	}
}

// whole sets y to the products of n rows of k blocks with some vectors: entry (v, i) is at v·n + i. panel is scratch.
// Rows that are left of eights are multiplied one by one, as eight that are the same.
func whole(of blocks.Type, y []float32, data []byte, x *rounded, k, n int, panel []byte) {
	set := wholeSet(of)
	_, size := of.Block()
	stride := size * k
	_, _, _ = data[:n*stride], y[:(4*len(x.fours)+len(x.one))*n], panel[:k*panelBlock]
	var left [4 * wholeRows]float32
	for row := 0; row < n; row += wholeRows {
		count, apart := 1, stride
		if row+wholeRows > n {
			count, apart = n-row, 0
		}
		for i := row; i < row+count; i++ {
			w := &data[i*stride]
			if len(x.fours) > 0 {
				set.panel(&panel[0], w, k, apart)
			}
			for g := range x.fours {
				v, at := &x.fours[g], 4*g*n+i
				if apart > 0 {
					set.fours(&y[at], &panel[0], &v.n[0], &v.scales[0], &v.offsets[0], k, n)
					continue
				}
				set.fours(&left[0], &panel[0], &v.n[0], &v.scales[0], &v.offsets[0], k, wholeRows)
				for j := range 4 {
					y[at+j*n] = left[wholeRows*j]
				}
			}
			for _, v := range x.one {
				at := 4*len(x.fours)*n + i
				if apart > 0 {
					set.rows(&y[at], w, &v.n[0], &v.scales[0], &v.offsets[0], k, 1, stride)
					continue
				}
				set.rows(&left[0], w, &v.n[0], &v.scales[0], &v.offsets[0], k, 1, 0)
				y[at] = left[0]
			}
		}
	}
}

// floats sets y to the products of n rows of numbers with the m vectors of x: entry (v, i) is at v·n + i. Vectors that
// are left of fours are multiplied one by one, and rows that are left as several that are the same. It takes whole
// groups of eight numbers, and returns their number.
func floats(of blocks.Type, y []float32, data []byte, x []float32, m, n, k int) (done int) {
	set, size := floatSet(of)
	_, _, _ = data[:n*k*size], y[:m*n], x[:m*k]
	var left [4 * floatRowsFours]float32
	v := 0
	for ; v+4 <= m; v += 4 {
		full, at := n/floatRowsFours, v*n
		set.fours(&y[at], &data[0], &x[v*k], k/8, full, size*k, k, n)
		for i := full * floatRowsFours; i < n; i++ {
			set.fours(&left[0], &data[i*size*k], &x[v*k], k/8, 1, 0, k, floatRowsFours)
			for j := range 4 {
				y[at+j*n+i] = left[j*floatRowsFours]
			}
		}
	}
	for ; v < m; v++ {
		full, at := n/floatRows, v*n
		set.rows(&y[at], &data[0], &x[v*k], k/8, full, size*k)
		for i := full * floatRows; i < n; i++ {
			set.rows(&left[0], &data[i*size*k], &x[v*k], k/8, 1, 0)
			y[at+i] = left[0]
		}
	}
	return k &^ 7
}

// wholeSet returns the products with rows of blocks of whole numbers.
func wholeSet(of blocks.Type) *wholeKernels {
	if of == blocks.Q4_0 {
		return &best.q4
	}
	return &best.q8
}

// floatSet returns the products with rows of numbers, and the bytes of a number.
func floatSet(of blocks.Type) (set *floatKernels, size int) {
	if of == blocks.BF16 {
		return &best.bf16, 2
	}
	return &best.f32, 4
}

// best is the widest set of this processor, or nil.
var best = func() *kernels {
	names, list := sets()
	if len(names) == 0 {
		return nil
	}
	return list[names[len(names)-1]]
}()
