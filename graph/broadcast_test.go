package graph

import (
	"fmt"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// TestAnyBroadcast: for any two shapes, either the result is that of NumPy, entry by entry, or the error is ours and
// names both shapes. Gorgonia's own operations stretch some shapes that lack axes and not others.
func TestAnyBroadcast(t *testing.T) {
	shapes := func(full ...int) (list [][]int) {
		for from := range full {
			axes := full[from:]
			for ones := range 1 << len(axes) {
				shape := slices.Clone(axes)
				for i := range shape {
					if ones>>i&1 > 0 {
						shape[i] = 1
					}
				}
				list = append(list, shape)
			}
		}
		return list
	}
	right := 0
	for _, full := range [][]int{{2, 3, 4}, {3, 3, 3}} {
		for _, a := range shapes(full...) {
			for _, b := range shapes(full...) {
				if broadcasts(t, a, b) {
					right++
				}
			}
		}
	}
	for _, b := range shapes(2, 3, 4)[:8] { // all shapes with the same number of axes stretch
		if !broadcasts(t, []int{2, 3, 4}, b) || !broadcasts(t, b, []int{2, 3, 4}) {
			t.Errorf("%v does not broadcast", b)
		}
	}
	if right < 200 {
		t.Errorf("%d pairs of shapes broadcast, want 200 or more", right)
	}
}

// broadcasts reports whether x − y has a value, and compares that value.
func broadcasts(t *testing.T, a, b []int) bool {
	t.Helper()
	g := New(Float64, 1)
	x, y := g.Root().Value("x", Normal(1), a...), g.Root().Value("y", Normal(1), b...)
	z := x.Sub(y)
	if err := g.Err(); err != nil {
		want := fmt.Sprintf("sub x %v, y %v: shapes differ and do not broadcast", tensor.Shape(a), tensor.Shape(b))
		if err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		return false
	}
	shape, got := z.Shape(), values(t, z)
	at := func(e Expr, entry int) float64 {
		of, i, step := e.Shape(), 0, 1
		for axis := len(shape) - 1; axis >= 0; axis-- {
			if k := axis - len(shape) + len(of); k >= 0 {
				i += entry % shape[axis] % of[k] * step
				step *= of[k]
			}
			entry /= shape[axis]
		}
		return e.Tensor().At(i)
	}
	for i := range got {
		if want := at(x, i) - at(y, i); got[i] != want {
			t.Fatalf("%v − %v = %v: entry %d is %v, want %v", a, b, shape, i, got[i], want)
		}
	}
	return true
}
