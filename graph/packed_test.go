package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// packable returns a table that is looked up and multiplied by, a matrix with a bias, one that another operation reads
// as well, and one that is too narrow to take less memory.
func packable(g *Graph) (all Expr) {
	s := g.Root()
	wte, w, other := s.Param("wte", Normal(1), 67, 96), s.Param("w", Normal(1), 96, 70), s.Param("other", Normal(1), 70, 96)
	narrow, b := s.Param("narrow", Normal(1), 96, 2), s.Param("b", Normal(1), 70)
	x, _ := Gather(wte, s.Ints("ids", 3, 67, -1))
	y, _ := Linear(x, w, b)
	z, _ := Linear(y, other, Expr{})
	n, _ := Linear(z, narrow, Expr{})
	logits, _ := LinearT(z, wte)
	return logits.Join(n, y.MatMul(other), x)
}

// A graph with packed matrices computes the same bits as one whose matrices hold the unpacked numbers. The exception is
// a tied head with one row, which adds up in another order.
func TestPackedGraph(t *testing.T) {
	for _, p := range []Packing{BF16, Int8} {
		g := New(Float32, 1)
		packable(g)
		s, err := g.Packed(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.Params() { // it keeps the old numbers
			clear(g.Params()[i].Tensor().F32)
		}
		out := packable(s)
		bytes := map[Packing]int{BF16: 2*128*96 + 2*128*96 + 2*128*70, Int8: 128*(96+4) + 128*(96+4) + 128*(70+4)}[p] + 4*(2*96+70)
		if s.WeightBytes() != bytes || g.WeightBytes() != 4*(67*96+96*70+70*96+96*2+70) {
			t.Errorf("%s: %d bytes of %d, want %d", p, s.WeightBytes(), g.WeightBytes(), bytes)
		}
		got := mustRun(t, mustCompile(t, out))
		if want := bytes + 4*70*96; s.WeightBytes() != want {
			t.Errorf("%s: %d bytes after a matrix was unpacked, want %d", p, s.WeightBytes(), want)
		}
		loose := New(Float32, 1)
		want := packable(loose)
		var packed []string
		for _, x := range s.Params() {
			dense := s.unpacked(x.name)
			if dense == nil {
				continue
			}
			packed = append(packed, x.name)
			into, _ := loose.Leaf(x.name)
			if before := slices.Clone(into.Tensor().F32); slices.Equal(before, dense.Float32s()) {
				t.Errorf("%s, %s: nothing was rounded", p, x.name)
			}
			copy(into.Tensor().F32, dense.Float32s())
			if shape := x.Tensor(); shape.Len() != 0 || !slices.Equal(shape.Shape, into.Tensor().Shape) {
				t.Errorf("%s, %s: got %d numbers of shape %v, want none of %v",
					p, x.name, shape.Len(), shape.Shape, into.Tensor().Shape)
			}
		}
		if want := []string{"wte", "w", "other"}; !slices.Equal(packed, want) {
			t.Errorf("%s: the packed matrices are %v, want %v", p, packed, want)
		}
		allowed := map[bool]float64{true: 1e-5}[Instructions() == "Go"] // gonum adds in a different order
		for i, v := range mustRun(t, mustCompile(t, want)).Value().F32 {
			if d := math.Abs(float64(got.Value().F32[i] - v)); !(d <= allowed*max(100, math.Abs(float64(v)))) {
				t.Fatalf("%s, entry %d: got %v, with the matrices unpacked %v", p, i, got.Value().F32[i], v)
			}
		}
		if s.Root().Param("w2", Const(0), 3); s.Err() != nil {
			t.Error(s.Err())
		}
		if s = s.Sibling(); s.Root().Param("w", Const(0), 70, 96).Tensor().Len() > 0 ||
			!strings.Contains(fmt.Sprint(s.Err()), "w: shape [70 96], but the shared parameter has [96 70]") {
			t.Errorf("%s: another shape: got error %v", p, s.Err())
		}
	}
}
