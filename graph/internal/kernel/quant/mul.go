package quant

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
)

// many is the number of vectors from which on it is faster in plain Go to unpack a strip for all of them.
const many = 4

// unpacks reports whether a part is unpacked for m vectors.
func (p *Part) unpacks(m int) bool { return !direct(p.whole()) && m >= many }

func (p *Part) whole() bool { return p.Type == blocks.Q8_0 || p.Type == blocks.Q4_0 }

// scratch is memory that is used again.
type scratch struct {
	rounded
	x        []float32 // the vectors that are multiplied by unpacked rows
	unpacked []float32
	panel    []byte
	y        []float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// MulAdd computes y = x·w + bias for x (m, K) and y (m, N). The bias is optional. If a part has blocks of whole
// numbers, x is rounded to whole numbers from −127 to 127 times a scale for each 32 first: the sum of a block is exact,
// and the sums of the blocks are float32. The bits of a row of y depend neither on the number of threads nor, in
// assembly, on the other rows.
func (w *Matrix) MulAdd(p *kernel.Pool, m int, x, bias, y []float32) {
	defer runtime.KeepAlive(w)
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	t := task{w: w, m: m, x: x[:m*w.K], loose: x, y: y[:m*w.N]}
	if bias != nil {
		t.bias = bias[:w.N]
	}
	if w.whole {
		s.round(p, m, w.K, x)
		t.rounded = &s.rounded
		t.loose = s.floats(w.K)
	}
	for i, part := range w.parts {
		t.part = i
		threads := kernel.Worth[float32](p, 2*len(part.Output)*w.K*(m+kernel.FetchRows))
		kernel.SpreadOn(p, threads, len(part.Output), stripRows, t)
	}
}

// floats returns the rounded vectors as float32 if they are multiplied by unpacked rows.
func (s *scratch) floats(k int) []float32 {
	if m := len(s.one); !direct(true) && m >= many {
		s.x = grown(s.x, m*k)
		for i := range s.one {
			s.one[i].float(s.x[i*k:][:k])
		}
		return s.x
	}
	return nil
}

// task holds the arguments of MulAdd.
type task struct {
	w       *Matrix
	part    int
	m       int
	x       []float32
	loose   []float32 // x as it is multiplied by unpacked rows of whole numbers
	rounded *rounded
	bias, y []float32
}

// Do computes the outputs of some rows of a part.
func (t *task) Do(from, to int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	part, k, n := &t.w.parts[t.part], t.w.K, to-from
	s.y = grown(s.y, (t.m+2)*n) // with those that fill a group of four
	size, _ := part.Type.Bytes(k)
	data := part.Data[from*size : to*size]
	switch {
	case part.unpacks(t.m):
		x := t.x
		if part.whole() {
			x = t.loose
		}
		s.unpacked = grown(s.unpacked, n*k)
		part.rows(s.unpacked, k, from, to)
		gemm.MulSerial(t.m, n, k, 1, gemm.Mat(x, k), gemm.Mat(s.unpacked, k).T(), 0, gemm.Mat(s.y, n))
	case !part.whole():
		part.dots(s.y, t.x, data, t.m, n, k)
	case direct(true):
		s.panel = grown(s.panel, k/32*panelBlock)
		whole(part.Type, s.y, data, t.rounded, k/32, n, s.panel)
	default:
		for i := range t.m {
			for r := range n {
				s.y[i*n+r] = dotPlain(part.Type, data[r*size:(r+1)*size], &t.rounded.one[i])
			}
		}
	}
	t.store(s.y, part.Output[from:to])
}

// store adds the bias to some columns and stores them at their outputs.
func (t *task) store(y []float32, outputs []int) {
	var bias [stripRows]float32
	ordered := true
	for j, out := range outputs {
		if t.bias != nil {
			bias[j] = t.bias[out]
		}
		ordered = ordered && out == outputs[0]+j
	}
	for i := range t.m {
		from, to := y[i*len(outputs):][:len(outputs)], t.y[i*t.w.N:][:t.w.N]
		if !ordered {
			for j, out := range outputs {
				to[out] = from[j] + bias[j]
			}
			continue
		}
		to = to[outputs[0]:][:len(from)]
		for j, x := range from {
			to[j] = x + bias[j]
		}
	}
}

// dotPlain returns Σ over the blocks of d·scale·Σ n·x.
func dotPlain(of blocks.Type, row []byte, v *vectors) (sum float32) {
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
		sum += float32(blocks.Half(binary.LittleEndian.Uint16(block)) * scale * float32(whole))
	}
	return sum
}

// dots sets y to the products of n rows of float32 or bfloat16 with m vectors.
func (p *Part) dots(y, x []float32, data []byte, m, n, k int) {
	done := 0
	if direct(false) && k >= 8 {
		done = floats(p.Type, y, data, x, m, n, k)
	} else {
		clear(y[:m*n])
	}
	if done == k {
		return
	}
	size, _ := p.Type.Bytes(k)
	for r := range n {
		row := data[r*size : (r+1)*size]
		for i := done; i < k; i++ {
			var w float32
			if p.Type == blocks.F32 {
				w = math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
			} else {
				w = math.Float32frombits(uint32(binary.LittleEndian.Uint16(row[2*i:])) << 16)
			}
			for v := range m {
				y[v*n+r] += float32(w * x[v*k+i])
			}
		}
	}
}
