package search

import (
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// First keeps the first columns of one row, or of every row, and leaves the rest alone.
func TestFirst(t *testing.T) {
	row := graph.Tensor{Shape: []int{3}, F32: []float32{1, 2, 3}}
	rows := graph.Tensor{Shape: []int{2, 3}, F64: []float64{1, 2, 3, 4, 5, 6}}
	for _, c := range []struct {
		from  graph.Tensor
		n     int
		shape []int
		want  []float64
	}{
		{row, 2, []int{2}, []float64{1, 2}}, {row, 3, []int{3}, []float64{1, 2, 3}},
		{row, -1, []int{3}, []float64{1, 2, 3}}, {row, 9, []int{3}, []float64{1, 2, 3}},
		{rows, 2, []int{2, 2}, []float64{1, 2, 4, 5}}, {rows, 3, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}},
		{graph.Tensor{}, 2, nil, []float64{}},
	} {
		got := First(c.from, c.n)
		if !slices.Equal(got.Shape, c.shape) || !slices.Equal(got.Floats(), c.want) {
			t.Errorf("first %d of %v: got %v %v, want %v %v", c.n, c.from, got.Shape, got.Floats(), c.shape, c.want)
		}
	}
	if rows.F64[2] != 3 || rows.F64[3] != 4 {
		t.Errorf("the logits have changed: %v", rows.F64)
	}
}
