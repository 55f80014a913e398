package gguf

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
)

// Rows returns the rows of a matrix, which is given by its name in a folder. columns are the outputs of the folder's
// rows or columns; nil stands for the same. If parts is not 0, the matrix is divided into this number of equal parts,
// and Rows returns one of them, counted from 0. Blocks of a type that no product reads are converted: F16 to F32, all
// others to BF16.
func (f *File) Rows(name string, columns []int, part, parts int) (stored.Rows, error) {
	if f == nil {
		return stored.Rows{}, errorf("got no file (nil), want one of Open or Read")
	}
	m, ok := f.matrix(name)
	if !ok {
		return stored.Rows{}, errorf("the file has no matrix %.80q", name)
	}
	if parts != 0 {
		var err error
		if m, err = m.part(part, parts); err != nil {
			return stored.Rows{}, err
		}
	}
	return m.rows(columns)
}

// part returns one of some equal parts of the rows.
func (m matrix) part(part, parts int) (matrix, error) {
	rows := m.Shape[0]
	if part < 0 || part >= parts || rows%parts != 0 || m.output != nil || len(m.data)%parts != 0 {
		return m, errorf("tensor %.80q: got part %d of %d, want a part of %d rows", m.Name, part, parts, rows)
	}
	size := len(m.data) / parts
	m.Shape, m.data = []int{rows / parts, m.Shape[1]}, m.data[part*size:(part+1)*size:(part+1)*size]
	return m, nil
}

func (m matrix) rows(columns []int) (stored.Rows, error) {
	r := stored.Rows{Type: m.Type, Data: m.data, Owner: m.mapped, Output: slices.Clone(m.output)}
	rows, width := m.Shape[0], m.Len()/m.Shape[0]
	if r.Output == nil {
		for i := range rows {
			r.Output = append(r.Output, i)
		}
	}
	if columns != nil && len(columns) != rows {
		return r, errorf("tensor %.80q: got %d rows, want %d", m.Name, rows, len(columns))
	}
	for i, to := range r.Output {
		if columns != nil {
			r.Output[i] = columns[to]
		}
	}
	switch m.Type {
	case F32, BF16, Q8_0, Q4_0:
		return r, nil
	case F16:
		r.Type = F32
	default:
		r.Type = BF16
	}
	_, size := r.Type.Block()
	r.Data, r.Owner = make([]byte, rows*width*size), nil
	return r, m.convert(r.Data, rows, width, r.Type)
}

// convert sets data to the rows as numbers of type to, on all processors.
func (m matrix) convert(data []byte, rows, width int, to Type) error {
	threads := min(rows, runtime.GOMAXPROCS(0))
	errs := make([]error, threads)
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			x := make([]float32, width)
			for r := i * rows / threads; r < (i+1)*rows/threads && errs[i] == nil; r++ {
				errs[i] = m.Values(x, r)
				for c, x := range x {
					if at := r*width + c; to == F32 {
						binary.LittleEndian.PutUint32(data[4*at:], math.Float32bits(x))
					} else {
						binary.LittleEndian.PutUint16(data[2*at:], blocks.ToBF16(x))
					}
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
