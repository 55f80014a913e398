package train

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// View is where the numbers of a matrix lie in a tensor of a file: entry (i, j) is number First + i·Row + j·Column of
// the tensor, row by row. A vector is a matrix of one row. With a View, a matrix may be transposed, some rows of a
// larger one, or every second column of one of several matrices. The zero View is for a tensor in the same order.
type View struct {
	Shape              []int // of the file's tensor
	First, Row, Column int
}

// size returns the number of entries of a shape.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// grid returns the View of t, with the numbers of rows and columns, and the width of a row here.
func (t Named) grid() (v View, rows, columns, width int) {
	n := size(t.Shape)
	if t.straight() {
		return View{t.Shape, 0, n, 1}, 1, n, n
	}
	width = t.Shape[len(t.Shape)-1]
	if columns = width; t.Columns != nil {
		columns = len(t.Columns)
	}
	if v = t.View; v.Shape == nil {
		v = View{slices.Clone(t.Shape), 0, columns, 1}
		v.Shape[len(v.Shape)-1] = columns
	}
	return v, n / max(1, width), columns, width
}

// straight reports whether the numbers have the same order in the file and here.
func (t Named) straight() bool { return !t.arranged() || len(t.Shape) == 0 }

func (t Named) arranged() bool { return t.View.Shape != nil || t.Columns != nil }

// shape returns the shape of the file's tensor.
func (t Named) shape() []int {
	v, _, _, _ := t.grid()
	return v.Shape
}

// check returns an error unless all entries have a place in the file's tensor.
func (t Named) check() error {
	if len(t.Shape) == 0 && (t.arranged() || t.Shift != 0) {
		return errors.Errorf("%s: got no shape, want one of a tensor to rearrange or shift", t.Name)
	}
	v, rows, columns, width := t.grid()
	for _, c := range t.Columns {
		if c < 0 || c >= width {
			return errors.Errorf("%s: got column %d, want one of %d", t.Name, c, width)
		}
	}
	last := v.First + (rows-1)*v.Row + (columns-1)*v.Column
	if rows*columns > 0 && (v.First < 0 || v.Row < 1 || v.Column < 1 || last >= size(v.Shape)) {
		return errors.Errorf("%s: got the view %v, want the places of %d·%d numbers", t.Name, v, rows, columns)
	}
	return nil
}

// runs calls visit with every row of which numbers are among n numbers of the file's tensor from index at on: the first
// of its columns there, and the index of that number among the n. The numbers are in the processor's cache, so it goes
// along the rows, which are adjacent here.
func (t Named) runs(at, n int, visit func(row, column, index int)) {
	v, rows, columns, _ := t.grid()
	if columns == 0 {
		return
	}
	begin := max(0, up(at-v.First-(columns-1)*v.Column, v.Row))
	end := min(rows, up(at+n-v.First, v.Row))
	for row := begin; row < end; row++ {
		column, index := 0, v.First+row*v.Row-at
		if index < 0 {
			column = (v.Column - 1 - index) / v.Column
			index += column * v.Column
		}
		if index < n { // otherwise the numbers of the row are before and after these
			visit(row, column, index)
		}
	}
}

// up returns a/b, rounded up, for b > 0.
func up(a, b int) int {
	if a > 0 {
		return (a-1)/b + 1
	}
	return a / b
}

// put writes a part of the file's tensor, which begins at entry at.
func (t Named) put(at int, part safetensors.Tensor) {
	v, _, columns, width := t.grid()
	from, held := graph.Tensor{F32: part.F32, F64: part.F64}, t.Len()
	fast, n := t.F32 != nil && from.F32 != nil && t.Shift == 0, from.Len()
	if fast && t.straight() {
		skip := min(max(0, t.first-at), n)
		copy(t.F32[min(max(0, at-t.first), held):], from.F32[skip:])
		return
	}
	t.runs(at, n, func(row, column, i int) {
		first := row*width - t.first
		switch {
		case fast && t.Columns == nil && v.Column == 1:
			copy(t.F32[first+column:first+columns], from.F32[i:])
		case fast && t.Columns == nil:
			to := t.F32[first : first+columns]
			for ; column < len(to) && i < n; column, i = column+1, i+v.Column {
				to[column] = from.F32[i]
			}
		case fast:
			to := t.F32[first : first+width]
			for ; column < columns && i < n; column, i = column+1, i+v.Column {
				to[t.Columns[column]] = from.F32[i]
			}
		default:
			for ; column < columns && i < n; column, i = column+1, i+v.Column {
				x := from.At(i)
				if t.Shift != 0 { // −0 stays −0
					x += t.Shift
				}
				if to := first + t.column(column); to >= 0 && to < held {
					t.Set(to, x)
				}
			}
		}
	})
}

// column returns the column here of column j in the file.
func (t Named) column(j int) int {
	if t.Columns != nil {
		return t.Columns[j]
	}
	return j
}

// lay writes the numbers of t to their places in the file's tensor.
func (t Named) lay(file graph.Tensor) {
	v, _, columns, width := t.grid()
	t.runs(0, file.Len(), func(row, column, i int) {
		for ; column < columns; column, i = column+1, i+v.Column {
			file.Set(i, t.At(row*width+t.column(column))-t.Shift)
		}
	})
}
