package quant

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
)

// The numbers of vectors from which on it is faster to unpack a strip for all of them, with assembly for its rows, as
// measured with AVX2, and without.
const (
	many      = 128
	manyPlain = 4
)

// unpacks reports whether a part is unpacked for m vectors.
func (p *Part) unpacks(m int) bool {
	if direct(p.whole()) {
		return m >= many
	}
	return m >= manyPlain
}

func (p *Part) whole() bool { return p.Type == blocks.Q8_0 || p.Type == blocks.Q4_0 }

// scratch is memory that is used again.
type scratch struct {
	rounded  []vector
	fours    []vector  // of four rounded vectors each, whose blocks take turns
	x        []float32 // the rounded vectors as float32
	unpacked []float32
	y        []float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// MulAdd computes y = x·w + bias for x (m, K) and y (m, N). The bias is optional. If a part has blocks of whole
// numbers, x is rounded to whole numbers from −127 to 127 times a scale for each 32 first: the sum of a block is exact,
// and the sums of the blocks are float32. The bits do not depend on the number of threads.
func (w *Matrix) MulAdd(p *kernel.Pool, m int, x, bias, y []float32) {
	defer runtime.KeepAlive(w)
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	t := task{w: w, m: m, x: x[:m*w.K], loose: x, bias: bias, y: y[:m*w.N]}
	if bias != nil {
		t.bias = bias[:w.N]
	}
	if w.whole {
		t.rounded = s.round(m, w.K, x)
		t.fours = s.together()
		t.loose = s.floats(w)
	}
	for i, part := range w.parts {
		t.part = i
		threads := kernel.Worth[float32](p, 2*len(part.Output)*w.K*(m+kernel.FetchRows))
		kernel.SpreadOn(p, threads, len(part.Output), stripRows, t)
	}
}

// round returns m vectors of k numbers, rounded.
func (s *scratch) round(m, k int, x []float32) []vector {
	s.rounded = grown(s.rounded, m)
	for i := range s.rounded {
		s.rounded[i].round(x[i*k:][:k])
	}
	return s.rounded
}

// together returns each four of the rounded vectors as one, in which their blocks take turns, if there is assembly for
// it.
func (s *scratch) together() []vector {
	if !direct(true) {
		return nil
	}
	s.fours = grown(s.fours, len(s.rounded)/4)
	for i := range s.fours {
		four := &s.fours[i]
		for j, v := range s.rounded[4*i:][:4] {
			four.n, four.scales = grown(four.n, 4*len(v.n)), grown(four.scales, 4*len(v.scales))
			for b, scale := range v.scales {
				four.scales[4*b+j] = scale
				copy(four.n[32*(4*b+j):], v.n[32*b:][:32])
			}
		}
	}
	return s.fours
}

// floats returns the rounded vectors as float32 if a part is unpacked for them.
func (s *scratch) floats(w *Matrix) []float32 {
	m := len(s.rounded)
	if !slices.ContainsFunc(w.parts, func(p Part) bool { return p.whole() && p.unpacks(m) }) {
		return nil
	}
	s.x = grown(s.x, m*w.K)
	for i := range s.rounded {
		s.rounded[i].float(s.x[i*w.K:][:w.K])
	}
	return s.x
}

// task holds the arguments of MulAdd.
type task struct {
	w       *Matrix
	part    int
	m       int
	x       []float32
	loose   []float32 // what x is taken as in a product with unpacked rows of whole numbers
	rounded []vector
	fours   []vector
	bias, y []float32
}

// Do computes the outputs of some rows of a part.
func (t *task) Do(from, to int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	part, k, n := &t.w.parts[t.part], t.w.K, to-from
	s.y = grown(s.y, t.m*n)
	switch whole := part.whole(); {
	case part.unpacks(t.m):
		x := t.x
		if whole {
			x = t.loose
		}
		s.unpacked = grown(s.unpacked, n*k)
		part.rows(s.unpacked, k, from, to)
		gemm.MulSerial(t.m, n, k, 1, gemm.Mat(x, k), gemm.Mat(s.unpacked, k).T(), 0, gemm.Mat(s.y, n))
	case whole:
		t.dotWhole(s.y, from, to)
	default:
		for i := range t.m {
			part.dot(s.y[i*n:][:n], t.x[i*k:][:k], from, to)
		}
	}
	for j, out := range part.Output[from:to] {
		add := float32(0)
		if t.bias != nil {
			add = t.bias[out]
		}
		for i := range t.m {
			t.y[i*t.w.N+out] = s.y[i*n+j] + add
		}
	}
}

// dotWhole sets y (m, n) to the products of n rows of blocks of whole numbers with all vectors, four at a time. The
// blocks are read from memory once: the rows fit into the second cache.
func (t *task) dotWhole(y []float32, from, to int) {
	part, k, n := &t.w.parts[t.part], t.w.K, to-from
	size, _ := part.Type.Bytes(k)
	data := part.Data[from*size : to*size]
	done := 0
	for i, four := range t.fours {
		if wholeFours(part.Type, y[4*i*n:][:4*n], data, four, k/32) {
			done += 4
		}
	}
	for i := done; i < t.m; i++ {
		part.dotWhole(y[i*n:][:n], t.rounded[i], k, from, to)
	}
}

// dotWhole sets y to the products of rows of blocks of whole numbers with v.
func (p *Part) dotWhole(y []float32, v vector, k, from, to int) {
	size, _ := p.Type.Bytes(k)
	data := p.Data[from*size : to*size]
	if k > 0 && wholeRows(p.Type, y, data, v, k/32) {
		return
	}
	for r := range y {
		y[r] = dotPlain(p.Type, data[r*size:(r+1)*size], v)
	}
}

// dotPlain returns Σ over the blocks of d·scale·Σ n·x.
func dotPlain(of blocks.Type, row []byte, v vector) (sum float32) {
	_, size := of.Block()
	for b, scale := range v.scales {
		block, x, whole := row[b*size:][:size], v.n[32*b:][:32], int32(0)
		if of == blocks.Q8_0 {
			for i, x := range x {
				whole += int32(int8(block[2+i])) * int32(x)
			}
		} else {
			for i, n := range block[2:18] {
				whole += (int32(n&15)-8)*int32(x[i]) + (int32(n>>4)-8)*int32(x[i+16])
			}
		}
		sum += blocks.Half(binary.LittleEndian.Uint16(block)) * scale * float32(whole)
	}
	return sum
}

// dot sets y to the products of rows of float32 or bfloat16 with x.
func (p *Part) dot(y, x []float32, from, to int) {
	k := len(x)
	size, _ := p.Type.Bytes(k)
	data, done := p.Data[from*size:to*size], 0
	if k >= 32 && floatRows(p.Type, y, data, x) {
		done = k &^ 31
	} else {
		clear(y)
	}
	if done == k {
		return
	}
	for r := range y {
		row := data[r*size : (r+1)*size]
		for i := done; i < k; i++ {
			var n float32
			if p.Type == blocks.F32 {
				n = math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
			} else {
				n = math.Float32frombits(uint32(binary.LittleEndian.Uint16(row[2*i:])) << 16)
			}
			y[r] += n * x[i]
		}
	}
}
