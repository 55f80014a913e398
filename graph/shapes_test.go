package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"gonum.org/v1/gonum/blas"
)

// Operands that do not fit are an error that names valid shapes, and no panic: masks of other sizes or axes, columns of
// something other than a matrix, products with another number of axes, and more new tokens than the context has.
func TestShapesThatDoNotFit(t *testing.T) {
	mask := func(shape ...int) func(s Scope) {
		return func(s Scope) {
			Attention(s.Value("x", Normal(1), 8, 24), s.Value("mask", Const(0), shape...), AttentionShape{Batch: 2, Context: 4, Heads: 2, QK: 4, V: 4}, 0)
		}
	}
	cached := func(rows int) func(s Scope) {
		return func(s Scope) {
			c := NewKVCache(AttentionShape{Batch: 2, Context: 3, Heads: 1, QK: 2, V: 2})
			CachedAttention(s.Value("x", Normal(1), rows, 6), causalMask(s, 3), s.Ints("at", 1, 3, -1), c)
		}
	}
	for name, tc := range map[string]struct {
		build func(s Scope)
		want  string // empty: no error
	}{
		"mask":                     {mask(4, 4), ""},
		"mask for every sequence":  {mask(2, 4, 4), ""},
		"mask for every head":      {mask(1, 2, 4, 4), ""},
		"mask for all":             {mask(2, 2, 4, 4), ""},
		"mask of one axis":         {mask(4), "a mask"},
		"mask of five axes":        {mask(1, 1, 1, 4, 4), "a mask"},
		"mask of other queries":    {mask(5, 4), "a mask"},
		"mask of other keys":       {mask(4, 5), "a mask"},
		"mask of other sequences":  {mask(3, 4, 4), "a mask"},
		"mask of other heads":      {mask(2, 3, 4, 4), "a mask"},
		"columns of a batch":       {func(s Scope) { s.Value("x", Normal(1), 2, 8, 3).Cols(0, 2) }, "no such columns"},
		"columns before the first": {func(s Scope) { s.Value("x", Normal(1), 2, 8).Cols(-1, 2) }, "no such columns"},
		"no columns":               {func(s Scope) { s.Value("x", Normal(1), 2, 8).Cols(2, 2) }, "no such columns"},
		"all columns":              {func(s Scope) { s.Value("x", Normal(1), 2, 8).Cols(0, 8) }, ""},
		"a matrix by a batch":      {func(s Scope) { s.Value("x", Normal(1), 2, 3).MatMul(s.Value("y", Normal(1), 3, 4, 5)) }, "want two matrices, or two batches of the same number"},
		"a batch by a matrix":      {func(s Scope) { s.Value("x", Normal(1), 2, 3, 4).MatMul(s.Value("y", Normal(1), 4, 5)) }, "want two matrices, or two batches of the same number"},
		"batches of other numbers": {func(s Scope) { s.Value("x", Normal(1), 2, 3, 4).MatMul(s.Value("y", Normal(1), 3, 4, 5)) }, "want two matrices, or two batches of the same number"},
		"as many as the context":   {cached(6), ""},
		"more than the context":    {cached(8), "got 8 tokens, want 1 … 3 for each of 2 sequences"},
		"not as many for each":     {cached(5), "got 5 tokens, want 1 … 3 for each of 2 sequences"},
	} {
		g := New(Float64, 1)
		tc.build(g.Root())
		switch err := g.Err(); {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
		}
	}
}

// A row is a view, in both types.
func TestRow(t *testing.T) {
	for _, x := range []Tensor{
		{Shape: []int{3, 2}, F32: []float32{1, 2, 3, 4, 5, 6}}, {Shape: []int{3, 2}, F64: []float64{1, 2, 3, 4, 5, 6}},
	} {
		for i, want := range [][]float64{{1, 2}, {3, 4}, {5, 6}} {
			if r := x.Row(i); !slices.Equal(r.Floats(), want) || !slices.Equal(r.Shape, []int{2}) {
				t.Errorf("row %d is %v of shape %v, want %v", i, r.Floats(), r.Shape, want)
			}
		}
		x.Row(2).Set(1, 7)
		if x.At(5) != 7 {
			t.Error("a row is a copy")
		}
	}
}

// A numbered scope counts as one level; the parent of any other scope is the one around it.
func TestParents(t *testing.T) {
	for path, want := range map[string]string{
		"h.0.attn.c_proj": "h.0.attn", "h.0.attn": "h.0", "h.0": "", "h.12": "", "wte": "", "decoder.h.3": "decoder", "decoder.h.3.mlp": "decoder.h.3",
	} {
		if got := parent(path); got != want {
			t.Errorf("around %q: got %q, want %q", path, got, want)
		}
	}
}

// Negative sizes are an error of gonum's. A product of no rows, no columns or over nothing equals gonum's.
func TestProductsOfNothing(t *testing.T) {
	p := products{pool: kernel.NewPool(1)}
	multiply := func(m, n, k int) (c []float32, refused bool) {
		defer func() { refused = recover() != nil }()
		c = []float32{1, 2, 3, 4}
		p.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, make([]float32, 4), 2, make([]float32, 4), 2, 2, c, 2)
		return c, false
	}
	for _, sizes := range [][3]int{{-1, 2, 2}, {2, -1, 2}, {2, 2, -1}} {
		if _, refused := multiply(sizes[0], sizes[1], sizes[2]); !refused {
			t.Errorf("%v are sizes", sizes)
		}
	}
	for sizes, want := range map[[3]int]string{{0, 2, 2}: "[1 2 3 4]", {2, 0, 2}: "[1 2 3 4]", {1, 2, 2}: "[2 4 3 4]", {2, 1, 2}: "[2 2 6 4]"} {
		if c, refused := multiply(sizes[0], sizes[1], sizes[2]); refused || fmt.Sprint(c) != want {
			t.Errorf("%v: got %v, refused %t, want %s", sizes, c, refused, want)
		}
	}
}

// Shape returns a copy. A dropout with p = 0 does not change the masks of the others. A cached step has one position,
// in the context.
func TestCopiesAndPositions(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Value("x", Normal(1), 2, 3)
	for _, e := range []Expr{x, x.Tanh()} {
		if e.Shape()[0] = 9; e.Shape()[0] != 2 {
			t.Errorf("the shape is %v", e.Shape())
		}
	}
	dropped := func(first float64) []float64 {
		g := New(Float64, 1)
		x := g.Root().Value("x", Const(1), 8, 8)
		p := mustCompile(t, x.Dropout(first).Dropout(0.5))
		return mustRun(t, p).Value().Floats()
	}
	g = New(Float64, 1)
	if want := mustRun(t, mustCompile(t, g.Root().Value("x", Const(1), 8, 8).Dropout(0.5))).Value().Floats(); !slices.Equal(dropped(0), want) {
		t.Error("a dropout of nothing changes the mask of the next")
	}
	for _, n := range []int{1, 2} {
		g := New(Float64, 1)
		CachedElman(g.Root().Value("x", Normal(1), 2, 4), g.Root().Value("w", Normal(1), 4, 4), g.Root().Ints("at", n, 5, -1), NewElmanCache(2, 4))
		if err := g.Err(); (err == nil) != (n == 1) {
			t.Errorf("%d positions: got error %v", n, err)
		}
	}
	g = New(Float64, 1)
	at := g.Root().Ints("at", 1, 5, -1)
	y, _ := cachedLayers["keys and values"].build(g.Root(), g.Root().Value("x", Normal(1), 2, 16), at)
	p := mustCompile(t, y)
	at.Ints()[0] = -1
	if err := p.Run(); err == nil || !strings.Contains(err.Error(), "at[0] is -1, not in 0 … 4") {
		t.Errorf("a step before the first: got error %v", err)
	}
}

// Ids that a program does not read may have any value.
func TestUnreadIds(t *testing.T) {
	g := New(Float64, 1)
	x, ids := g.Root().Value("x", Normal(1), 4, 3), g.Root().Ints("ids", 2, 4, -1)
	ids.Ints()[1] = 99
	mustRun(t, mustCompile(t, x.Tanh()))
	if err := mustCompile(t, x.Gather(ids)).Run(); err == nil {
		t.Error("an id that is read may be 99 of 4")
	}
}
