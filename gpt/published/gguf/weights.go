package gguf

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/pkg/errors"
)

// weights is a file of safetensors with the tensors of a GGUF file as float32, which are converted when they are read.
type weights struct {
	header  []byte
	tensors []view
	size    int64

	sync.Mutex
	last    int       // the index of the tensor that turned holds
	turned  []float32 // a matrix (in, out)
	scratch []float32
}

// view is a tensor in a folder's order.
type view struct {
	Tensor
	begin int64 // of its numbers after the header
	from  []int // the file's row for each of the folder's rows; nil: the same
	turn  bool  // the folder's matrix is (in, out)
	gain  bool  // the folder's numbers are the file's minus 1
}

// weights returns the tensors of a file except the factors of rotary positions, which config.json describes.
func (f *File) weights(a architecture) (*weights, error) {
	type entry struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	w, header, end := &weights{last: -1}, map[string]entry{}, int64(0)
	tensors, err := f.flat()
	if err != nil {
		return nil, err
	}
	for _, t := range tensors {
		if t.Name == factorsName {
			continue
		}
		name, err := a.theirs(t.Name)
		if err != nil {
			return nil, err
		}
		if _, twice := header[name]; twice {
			return nil, errors.Errorf("tensor %.80q: the file has %s twice", t.Name, name)
		}
		v := view{Tensor: t, begin: end, turn: a.turns(t), gain: a.gain(t)}
		shape := slices.Clone(t.Shape)
		if order := f.order(a, t); order != nil {
			v.from = make([]int, len(order))
			for i, to := range order {
				v.from[to] = i
			}
		}
		if v.turn {
			slices.Reverse(shape)
		}
		end += 4 * int64(t.Len())
		header[name] = entry{"F32", shape, [2]int64{v.begin, end}}
		w.tensors = append(w.tensors, v)
	}
	text, err := json.Marshal(header)
	w.header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	w.size = int64(len(w.header)) + end
	return w, err
}

// turns reports whether a folder's matrix is the transpose of a file's.
func (a architecture) turns(t Tensor) bool {
	return a.columns && len(t.Shape) == 2 && t.Name != tokensName && t.Name != headName &&
		t.Name != positionsName
}

// gain reports whether a tensor holds gains of a norm, of which the folder has 1 less.
func (a architecture) gain(t Tensor) bool {
	return a.gains && strings.HasSuffix(t.Name, "_norm.weight")
}

// ReadAt reads bytes of the file.
func (w *weights) ReadAt(p []byte, off int64) (n int, err error) {
	w.Lock()
	defer w.Unlock()
	for n < len(p) && off+int64(n) < w.size {
		at := off + int64(n)
		if at < int64(len(w.header)) {
			n += copy(p[n:], w.header[at:])
			continue
		}
		at -= int64(len(w.header))
		i := sort.Search(len(w.tensors), func(i int) bool { return w.tensors[i].begin > at }) - 1
		read, err := w.numbers(p[n:], i, at-w.tensors[i].begin)
		if err != nil {
			return n, err
		}
		n += read
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// numbers reads bytes of tensor i from its byte at on.
func (w *weights) numbers(p []byte, i int, at int64) (n int, err error) {
	t := &w.tensors[i]
	if t.turn {
		return w.transposed(p, i, at)
	}
	rows, width := 1, t.Len()
	if len(t.Shape) > 1 {
		rows = t.Shape[0]
		width /= rows
	}
	if rows == 1 && t.from != nil { // a vector
		x, y := make([]float32, width), w.room(width)
		err := t.Values(x, 0)
		for i, from := range t.from {
			y[i] = x[from]
		}
		return fill(p, y, int(at)), err
	}
	first := int(at / int64(4*width))
	last := min(rows, first+(len(p)+int(at)%(4*width)+4*width-1)/(4*width)) // after the last row
	last = min(last, first+max(1, chunk/width))
	x := w.room((last - first) * width)
	if t.from == nil {
		err = t.Values(x, first)
	}
	for r := first; r < last && t.from != nil && err == nil; r++ {
		err = t.Values(x[(r-first)*width:][:width], t.from[r])
	}
	for i := range x {
		if t.gain {
			x[i]--
		}
	}
	return fill(p, x, int(at-int64(first)*int64(4*width))), err
}

// room returns a slice of n numbers that is used again.
func (w *weights) room(n int) []float32 {
	w.scratch = slices.Grow(w.scratch[:0], n)[:n]
	return w.scratch
}

// transposed reads bytes of matrix i, which is turned as a whole.
func (w *weights) transposed(p []byte, i int, at int64) (int, error) {
	t := &w.tensors[i]
	if w.last != i {
		out, in := t.Shape[0], t.Shape[1]
		w.turned, w.last = slices.Grow(w.turned[:0], out*in)[:out*in], -1
		row := w.room(in)
		for r := range out {
			if err := t.Values(row, r); err != nil {
				return 0, err
			}
			for c, x := range row {
				w.turned[c*out+r] = x
			}
		}
		w.last = i
	}
	return fill(p, w.turned, int(at)), nil
}

// fill sets p to the bytes of x from byte at on, and returns their number.
func fill(p []byte, x []float32, at int) (n int) {
	var b [4]byte
	for n < len(p) && at/4 < len(x) {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(x[at/4]))
		copied := copy(p[n:], b[at%4:])
		n, at = n+copied, at+copied
	}
	return n
}
