package quant

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
)

func (p *Part) whole() bool { return p.Type == blocks.Q8_0 || p.Type == blocks.Q4_0 }

// scratch is memory that is used again.
type scratch struct {
	rounded
	plain
	turned []float32 // the vectors that are multiplied in tiles, in groups: eight numbers of each in turn
	rows   []byte    // the numbers of rows in float32
	panel  []byte
	y      []float32
	bias   []float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// MulAdd computes y = x·w + bias for x (m, K) and y (m, N). The bias is optional. If a part has blocks of whole
// numbers, x is rounded to whole numbers from −127 to 127 times a scale for each 32 first: the sum of a block is exact,
// and the products of the sums with both scales are added in float32, each rounded once. The sum of a row of floats
// has eight lanes: lane j has numbers j, j+8, …, each product rounded once with the sum. The bits of a row of y depend
// neither on the processor, nor on the number of threads, nor on the other rows.
func (w *Matrix) MulAdd(p *kernel.Pool, m int, x, bias, y []float32) {
	defer runtime.KeepAlive(w)
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	t := task{w: w, m: m, x: x[:m*w.K], y: y[:m*w.N]}
	if bias != nil {
		t.bias = bias[:w.N]
	}
	if w.whole {
		s.round(p, m, w.K, x)
		t.rounded = &s.rounded
	}
	for i, part := range w.parts {
		t.part = i
		strip := stripRows
		if tiled(part.Type, m, w.K) {
			strip = tiledRows
			t.turned = s.turn(p, m, w.K, x, t.turned)
		}
		threads := kernel.Worth[float32](p, 2*len(part.Output)*w.K*(m+kernel.FetchRows))
		kernel.SpreadOn(p, threads, len(part.Output), strip, t)
	}
}

// turn returns the vectors of x in complete tiles as these take them, unless it has already.
func (s *scratch) turn(p *kernel.Pool, m, k int, x, already []float32) []float32 {
	if already != nil {
		return already
	}
	m = m / tileVectors * tileVectors
	s.turned = grown(s.turned, m*k)
	threads := kernel.Worth[float32](p, turnOperations*m*k)
	kernel.SpreadOn(p, threads, m/tileVectors, 1, turning{k, x, s.turned})
	return s.turned
}

// tiledRows is the number of rows that a thread multiplies at a time in tiles: complete ones, which fit into the second
// cache.
const tiledRows = 48

// turnOperations is the cost of copying a number for tiles, in operations of products.
const turnOperations = 8

// turning copies the vectors of x (m, k), for tiles.
type turning struct {
	k     int
	x, to []float32
}

// task holds the arguments of MulAdd.
type task struct {
	w       *Matrix
	part    int
	m       int
	x       []float32
	turned  []float32 // x for tiles, or nil
	rounded *rounded
	bias, y []float32
}

// Do computes the outputs of some rows of a part.
func (t *task) Do(from, to int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	part := &t.w.parts[t.part]
	size, _ := part.Type.Bytes(t.w.K)
	data, outputs := part.Data[from*size:to*size], part.Output[from:to]
	switch {
	case tiled(part.Type, t.m, t.w.K):
		done := t.tiles(s, part, data, outputs)
		t.some(s, part, data, outputs, done, t.m)
	case part.whole() && direct(true) && wide() && len(t.rounded.fours) > 0:
		done := t.wides(s, part, data, outputs)
		if fours := t.m - len(t.rounded.one); fours < t.m {
			t.some(s, part, data[:done*size], outputs[:done], fours, t.m)
		}
		t.some(s, part, data[done*size:], outputs[done:], 0, t.m)
	default:
		t.some(s, part, data, outputs, 0, t.m)
	}
}

// some computes some outputs of vectors first … last, of which the first follows tiles or is 0, or is alone.
func (t *task) some(s *scratch, part *Part, data []byte, outputs []int, first, last int) {
	k, n, m := t.w.K, len(outputs), last-first
	if n == 0 || m == 0 {
		return
	}
	s.y = grown(s.y, (m+2)*n) // with those that fill a group of four
	switch {
	case !part.whole():
		part.dots(s, t.x[first*k:], data, m, n, k)
	case direct(true):
		s.panel = grown(s.panel, k/32*panelBlock)
		x := *t.rounded
		if first > 0 {
			x.fours = nil
		}
		whole(part.Type, s.y, data, &x, k/32, n, s.panel)
	default:
		size, _ := part.Type.Bytes(k)
		for i := range m {
			for r := range n {
				s.y[i*n+r] = dotPlain(part.Type, data[r*size:(r+1)*size], &t.rounded.one[i])
			}
		}
	}
	t.store(s, first, m, outputs)
}

// store adds the biases to the outputs of m vectors from v on, and stores them.
func (t *task) store(s *scratch, v, m int, outputs []int) {
	s.bias = t.biases(s.bias, outputs, 0)
	bias, n := s.bias[:len(outputs)], len(outputs)
	ordered := consecutive(outputs)
	for i := range m {
		from, to := s.y[i*n:][:n], t.y[(v+i)*t.w.N:][:t.w.N]
		if !ordered {
			for j, out := range outputs {
				to[out] = from[j] + bias[j]
			}
			continue
		}
		to = to[outputs[0]:][:n]
		for j, x := range from {
			to[j] = x + bias[j]
		}
	}
}

// biases returns the biases of some outputs, or zeros, and more zeros, in the memory of to.
func (t *task) biases(to []float32, outputs []int, more int) []float32 {
	to = grown(to, len(outputs)+more)
	clear(to)
	if t.bias != nil {
		for j, out := range outputs {
			to[j] = t.bias[out]
		}
	}
	return to
}

// consecutive reports whether outputs are next to each other, in order.
func consecutive(outputs []int) bool {
	for j, out := range outputs {
		if out != outputs[0]+j {
			return false
		}
	}
	return true
}

// dots sets s.y to the products of n rows of float32 or bfloat16 with m vectors.
func (p *Part) dots(s *scratch, x []float32, data []byte, m, n, k int) {
	y, done := s.y, k&^7
	switch {
	case done == 0:
		clear(y[:m*n])
	case direct(false):
		floats(p.Type, y, data, x, m, n, k)
	default:
		s.lanes(y, x, p.Type, data, m, n, k)
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
