// Package quant multiplies by matrices that are stored row by row in blocks, as in GGUF files, without unpacking them.
package quant

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
	"github.com/pkg/errors"
)

// Part holds some rows of a matrix: the outputs that they compute, each a row of K numbers.
type Part struct {
	Type   blocks.Type // F32, BF16, Q8_0 or Q4_0
	Data   []byte      // the blocks of all rows
	Output []int       // the output of each row
	Owner  any         // is referenced as long as the matrix, and keeps Data valid
}

// Matrix is a matrix (K, N) of float32, stored as the rows of its transpose. It is read-only.
type Matrix struct {
	K, N  int // inputs and outputs
	parts []Part
	where []place // of each output
	whole bool    // some numbers are whole numbers with scales
}

// place is a row of a part.
type place struct{ part, row int32 }

// stripRows is the number of rows that a thread multiplies at a time.
const stripRows = 32

// New returns the matrix (k, n) of the parts. An error names what does not fit.
func New(k, n int, parts ...Part) (*Matrix, error) {
	if k < 1 || n < 1 || n > math.MaxInt32 {
		return nil, errors.Errorf("got %d inputs and %d outputs, want 1 to %d", k, n, math.MaxInt32)
	}
	w := &Matrix{K: k, N: n, parts: parts, where: make([]place, n)}
	for i := range w.where {
		w.where[i].part = -1
	}
	for i, p := range parts {
		switch p.Type {
		case blocks.F32, blocks.BF16:
		case blocks.Q8_0, blocks.Q4_0:
			w.whole = true
		default:
			return nil, errors.Errorf("type: got %s, want F32, BF16, Q8_0 or Q4_0", p.Type)
		}
		size, err := p.Type.Bytes(k)
		if err != nil {
			return nil, err
		}
		if len(p.Data) != size*len(p.Output) {
			return nil, errors.Errorf("%s: got %d bytes, want %d for %d rows of %d",
				p.Type, len(p.Data), size*len(p.Output), len(p.Output), k)
		}
		for row, to := range p.Output {
			if to < 0 || to >= n || w.where[to].part >= 0 {
				return nil, errors.Errorf("output %d of %d: want each in one row", to, n)
			}
			w.where[to] = place{int32(i), int32(row)}
		}
	}
	for to, at := range w.where {
		if at.part < 0 {
			return nil, errors.Errorf("output %d of %d: want a row", to, n)
		}
	}
	return w, nil
}

// Pack returns m (k, n) as a matrix of the given type.
func Pack(p *kernel.Pool, of blocks.Type, k, n int, m gemm.Matrix[float32]) (*Matrix, error) {
	size, err := of.Bytes(k)
	if err != nil {
		return nil, err
	}
	part := Part{Type: of, Data: make([]byte, size*n), Output: make([]int, n)}
	var mutex sync.Mutex
	p.Range(n, stripRows, func(from, to int) {
		row := make([]float32, k)
		for j := from; j < to; j++ {
			part.Output[j] = j
			for i := range row {
				row[i] = m.From(i, j).Data[0]
			}
			if _, failed := of.Encode(part.Data[j*size:j*size:(j+1)*size], row); failed != nil {
				mutex.Lock()
				err = failed
				mutex.Unlock()
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return New(k, n, part)
}

// Finite returns an error that names an output with a number that is not finite.
func (w *Matrix) Finite(p *kernel.Pool) error {
	defer runtime.KeepAlive(w)
	var mutex sync.Mutex
	var err error
	for _, part := range w.parts {
		size, _ := part.Type.Bytes(w.K)
		first, step, mask := 0, 34, uint16(0x7c00)
		switch part.Type {
		case blocks.Q4_0:
			step = 18
		case blocks.BF16:
			step, mask = 2, 0x7f80
		case blocks.F32:
			first, step, mask = 2, 4, 0x7f80
		}
		p.Range(len(part.Output), 4*stripRows, func(from, to int) {
			rows := part.Data[from*size : to*size]
			for at := first; at < len(rows); at += step {
				if binary.LittleEndian.Uint16(rows[at:])&mask == mask {
					mutex.Lock()
					err = errors.Errorf("output %d has a number that is not finite", part.Output[from+at/size])
					mutex.Unlock()
					return
				}
			}
		})
	}
	return err
}

// Size returns K and N.
func (w *Matrix) Size() (k, n int) { return w.K, w.N }

// Column writes the inputs' weights of output j to dst.
func (w *Matrix) Column(dst []float32, j int) {
	defer runtime.KeepAlive(w)
	at := w.where[j]
	w.parts[at.part].rows(dst, w.K, int(at.row), int(at.row)+1)
}

// rows unpacks some rows.
func (p Part) rows(dst []float32, k, from, to int) {
	size, _ := p.Type.Bytes(k)
	if err := p.Type.Decode(dst, p.Data[from*size:to*size]); err != nil {
		panic(err) // New has checked the sizes
	}
}

// Unpack writes the entire matrix to m.
func (w *Matrix) Unpack(m gemm.Matrix[float32]) {
	row := make([]float32, w.K)
	for j := range w.N {
		w.Column(row, j)
		for i, x := range row {
			m.From(i, j).Data[0] = x
		}
	}
}

// Bytes returns the memory of the numbers, of which some may be in a mapped file.
func (w *Matrix) Bytes() (sum int) {
	for _, p := range w.parts {
		sum += len(p.Data)
	}
	return sum
}
