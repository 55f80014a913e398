package gemm

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// stripCols is the number of columns in a strip of a Packed matrix.
const stripCols = 64

// Packed is a matrix (K, N) of float32 in fewer bits. A number is either bfloat16, the upper half of a float32, rounded
// to the nearest, u = 2⁻⁸ of the number at most; or int8 times a scale of its column, the largest number of which is
// 127, within half a scale. The matrix is stored in strips of 64 columns, the last filled up with zeros. The rows of a
// strip are contiguous, so that a row times the matrix reads memory from one end to the other. A Packed is read-only.
type Packed struct {
	K, N   int
	half   []uint16
	eighth []int8
	scales []float32 // nil for bfloat16
}

// Size returns K and N.
func (w *Packed) Size() (k, n int) { return w.K, w.N }

// MulAdd is MulPacked with w.
func (w *Packed) MulAdd(p *kernel.Pool, m int, x, bias, y []float32) { MulPacked(p, m, x, w, bias, y) }

// PackBF16 packs m (k, n) as bfloat16.
func PackBF16(p *kernel.Pool, k, n int, m Matrix[float32]) *Packed {
	w := &Packed{K: k, N: n, half: make([]uint16, strips(n)*k*stripCols)}
	w.each(p, m, func(_ int, x float32) {}, func(at, _ int, x float32) {
		w.half[at] = uint16(math.Float32bits(kernel.RoundBfloat16(x)) >> 16)
	})
	return w
}

// PackInt8 packs m (k, n) as int8 with a scale for every column.
func PackInt8(p *kernel.Pool, k, n int, m Matrix[float32]) *Packed {
	w := &Packed{K: k, N: n, eighth: make([]int8, strips(n)*k*stripCols), scales: make([]float32, strips(n)*stripCols)}
	w.each(p, m, func(j int, x float32) {
		w.scales[j] = max(w.scales[j], float32(math.Abs(float64(x)))/127)
	}, func(at, j int, x float32) {
		if scale := w.scales[j]; scale > 0 {
			q := math.RoundToEven(float64(x) / float64(scale))
			w.eighth[at] = int8(min(127, max(-127, q))) // a scale that is denormal may be too small
		}
	})
	return w
}

// each passes every number of m to two functions, strip by strip: first to look, then to keep with its index as well.
func (w *Packed) each(p *kernel.Pool, m Matrix[float32], look func(j int, x float32), keep func(at, j int, x float32)) {
	p.For(strips(w.N), func(strip int) {
		left := strip * stripCols
		cols := min(stripCols, w.N-left)
		for i := range w.K {
			for j := range cols {
				look(left+j, m.From(i, left+j).Data[0])
			}
		}
		for i := range w.K {
			for j := range cols {
				keep((strip*w.K+i)*stripCols+j, left+j, m.From(i, left+j).Data[0])
			}
		}
	})
}

func strips(n int) int { return (n + stripCols - 1) / stripCols }

// PackedBytes returns the memory of a matrix (k, n) as bfloat16 or as int8.
func PackedBytes(k, n int, eighths bool) int {
	if eighths {
		return strips(n) * stripCols * (k + 4)
	}
	return 2 * strips(n) * stripCols * k
}

// at returns entry (i, j) as float32.
func (w *Packed) at(i, j int) float32 {
	at := (j/stripCols*w.K+i)*stripCols + j%stripCols
	if w.half != nil {
		return math.Float32frombits(uint32(w.half[at]) << 16)
	}
	return float32(w.eighth[at]) * w.scales[j]
}

// Column writes column j to dst.
func (w *Packed) Column(dst []float32, j int) {
	for i := range dst {
		dst[i] = w.at(i, j)
	}
}

// Unpack writes the entire matrix to m.
func (w *Packed) Unpack(m Matrix[float32]) {
	for i := range w.K {
		for j := range w.N {
			m.From(i, j).Data[0] = w.at(i, j)
		}
	}
}

// Bytes returns the memory of the matrix.
func (w *Packed) Bytes() int { return 2*len(w.half) + len(w.eighth) + 4*len(w.scales) }

// Finite reports whether no number is too large: the range of bfloat16 ends a little below the range of float32.
func (w *Packed) Finite() bool {
	return !slices.ContainsFunc(w.half, func(h uint16) bool { return h&0x7f80 == 0x7f80 })
}
