//go:build (amd64 || arm64) && !nosimd

package quant

import "github.com/pedestrian-ml/pedestrian/internal/blocks"

// kernels holds the products in one instruction set, described in quant_stubs_amd64.go and quant_stubs_arm64.go.
type kernels struct {
	q8, q4           func(y *float32, w *byte, x *int8, scale *float32, k int, n int)
	foursQ8, foursQ4 func(y *float32, w *byte, x *int8, scale *float32, k int, n int, apart int)
	f32, bf16        func(y *float32, w *byte, a *float32, k int, n int, rest int)
}

// direct reports whether there is assembly for the products with rows of blocks of whole numbers, or of floats.
func direct(whole bool) bool { return best != nil && (!whole || best.q8 != nil) }

// wholeRows sets y to the products of rows of k blocks, in assembly, and reports whether it can.
func wholeRows(of blocks.Type, y []float32, data []byte, v vector, k int) bool {
	if best == nil || len(y) == 0 {
		return false
	}
	rows := best.q8
	if of == blocks.Q4_0 {
		rows = best.q4
	}
	if rows == nil {
		return false
	}
	_, size := of.Block()
	_, _, _ = data[:len(y)*k*size], v.n[:32*k], v.scales[:k]
	rows(&y[0], &data[0], &v.n[0], &v.scales[0], k, len(y))
	return true
}

// wholeFours sets y (4, n) to the products of n rows of k blocks with four vectors, whose blocks take turns in v, in
// assembly, and reports whether it can.
func wholeFours(of blocks.Type, y []float32, data []byte, v vector, k int) bool {
	n := len(y) / 4
	if !direct(true) || n == 0 {
		return false
	}
	rows := best.foursQ8
	if of == blocks.Q4_0 {
		rows = best.foursQ4
	}
	_, size := of.Block()
	_, _, _ = data[:n*k*size], v.n[:4*32*k], v.scales[:4*k]
	rows(&y[0], &data[0], &v.n[0], &v.scales[0], k, n, n)
	return true
}

// floatRows sets y to the products of rows of numbers with the whole groups of 32 numbers of x, and reports whether it
// can.
func floatRows(of blocks.Type, y []float32, data []byte, x []float32) bool {
	if best == nil || len(y) == 0 {
		return false
	}
	rows, size := best.f32, 4
	if of == blocks.BF16 {
		rows, size = best.bf16, 2
	}
	_ = data[:len(y)*len(x)*size]
	rows(&y[0], &data[0], &x[0], len(x)/32, len(y), len(x)%32*size)
	return true
}

// best is the widest set of this processor, or nil.
var best = func() *kernels {
	names, list := sets()
	if len(names) == 0 {
		return nil
	}
	return list[names[len(names)-1]]
}()
