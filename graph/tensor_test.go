package graph

import (
	"math"
	"slices"
	"testing"
)

// Numbers of either type can be copied to a tensor of either type, all of them or none.
func TestFillAndCopy(t *testing.T) {
	for _, dtype := range []Dtype{Float32, Float64} {
		g := New(dtype, 1)
		x := g.Root().Param("x", Const(7), 2, 3)
		for i, fill := range []func() error{
			func() error { return x.Tensor().Fill(0, 1, 2, 3, 4, 5) },
			func() error { return x.Tensor().Copy(Tensor{F32: []float32{1, 2, 3, 4, 5, 6}}) },
			func() error { return x.Tensor().Copy(Tensor{F64: []float64{2, 3, 4, 5, 6, 7}}) },
		} {
			if err := fill(); err != nil {
				t.Fatal(err)
			}
			if got, want := x.Tensor().Floats(), []float64{0, 1, 2, 3, 4, 5}; got[1] != want[1]+float64(i) ||
				got[5] != want[5]+float64(i) {
				t.Errorf("%v, way %d: got %v", dtype, i, got)
			}
		}
		before := x.Tensor().Floats()
		for want, err := range map[string]error{
			"5 numbers for a tensor (2, 3) of 6": x.Tensor().Fill(1, 2, 3, 4, 5),
			"0 numbers for a tensor (2, 3) of 6": x.Tensor().Copy(x.Square().Tensor()), // the result of an operation has no numbers
			"6 numbers for a tensor () of 0":     x.Square().Tensor().Copy(x.Tensor()),
			"entry 6 of a tensor of 6":           x.Tensor().Set(6, 1),
			"entry -1 of a tensor of 6":          x.Tensor().Set(-1, 1),
			"entry 0 of a tensor of 0":           x.Square().Tensor().Set(0, 1),
		} {
			if err == nil || err.Error() != want {
				t.Errorf("got error %v, want %s", err, want)
			}
		}
		if !slices.Equal(x.Tensor().Floats(), before) {
			t.Errorf("got %v, want %v as before", x.Tensor().Floats(), before)
		}
		if y := x.Tensor(); !math.IsNaN(y.At(6)) || !math.IsNaN(y.At(-1)) || y.Row(2).Len() != 0 ||
			y.Row(-1).Len() != 0 || y.Row(1).At(2) != before[5] {
			t.Error("entries or rows beyond the tensor")
		}
	}
}

// An unknown place is an error that lists similar ones.
func TestPlacesThatAreNot(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(2), 2, 3)
	y := x.In(g.Root().Sub("h.0.attn")).Scale(2).In(g.Root().Sub("h.1.mlp")).Square()
	_, err := g.Entering("h.1.mpl")
	if want := `nothing enters "h.1.mpl": the nearest of 4 places are "h.1.mlp", "h.1", "h.0", "h.0.attn"`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = g.Leaving("h.1.mlp")
	if want := `nothing leaves "h.1.mlp": the nearest of 2 places are "h.0", "h.0.attn"`; err == nil ||
		err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, place := range []string{"h.2", "typo", ""} {
		g.Recompute("h.0", place)
		if _, err := Compile(y.SumAll(), x); err == nil || err.Error()[:len("recompute: nothing is computed in \""+place)] != "recompute: nothing is computed in \""+place {
			t.Errorf("%q: got error %v", place, err)
		}
	}
	g.Recompute("h.0")
	mustCompile(t, y.SumAll(), x)
	if _, err := New(Float64, 1).Entering("h"); err == nil {
		t.Error("a place of an empty graph")
	}
}
