package train

import (
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// put writes a part of the file's tensor, which begins at entry at. It leaves out rows after the tensor's last one.
func (t Named) put(at int, part safetensors.Tensor) {
	if t.Rows > 0 {
		at, part = t.used(at, part)
	}
	switch n := t.Len(); {
	case t.straight() && t.F32 != nil && part.F32 != nil:
		skip := min(max(0, t.first-at), len(part.F32))
		copy(t.F32[min(max(0, at-t.first), n):], part.F32[skip:])
	case t.Turned && t.F32 != nil && part.F32 != nil:
		t.turn(at, part.F32)
	default:
		from := graph.Tensor{F32: part.F32, F64: part.F64}
		for i := range from.Len() {
			if to := t.place(at + i); to < n {
				t.Set(to, from.At(i)+t.Shift)
			}
		}
	}
}

// used returns what t uses of a part, with its index in the rows that t uses.
func (t Named) used(at int, part safetensors.Tensor) (int, safetensors.Tensor) {
	first := t.before()
	t.Rows = 0
	n := 1
	for _, size := range t.shape() {
		n *= size
	}
	length := len(part.F32) + len(part.F64)
	from := min(max(0, first-at), length)
	to := max(from, min(first+n-at, length))
	if part.F32 != nil {
		part.F32 = part.F32[from:to]
	} else {
		part.F64 = part.F64[from:to]
	}
	return at + from - first, part
}

// turn writes a part of a matrix that is turned. The part is in the processor's cache, so it goes down the part's
// columns, whose numbers are written to adjacent entries.
func (t Named) turn(at int, part []float32) {
	rows, width := t.Shape[0], t.Shape[1]
	for row := range rows { // a column of the file's matrix
		first := (at - row + rows - 1) / rows // the column of this matrix
		to := t.F32[row*width : (row+1)*width]
		for column, i := first, first*rows+row-at; i < len(part); column, i = column+1, i+rows {
			if t.Columns == nil {
				to[column] = part[i]
			} else {
				to[t.Columns[column]] = part[i]
			}
		}
	}
}
