package fused

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
)

// Operands that do not fit are an error that names valid shapes, and no panic: masks of other sizes or axes, columns of
// something other than a matrix, products with another number of axes, and more new tokens than the context has.
func TestShapesThatDoNotFit(t *testing.T) {
	mask := func(shape ...int) func(s graph.Scope) {
		return func(s graph.Scope) {
			Attention(
				s.Value("x", graph.Normal(1), 8, 24), s.Value("mask", graph.Const(0), shape...),
				AttentionShape{Batch: 2, Context: 4, Heads: 2, QK: 4, V: 4}, 0,
			)
		}
	}
	cached := func(rows int) func(s graph.Scope) {
		return func(s graph.Scope) {
			c := NewKVCache(AttentionShape{Batch: 2, Context: 3, Heads: 1, QK: 2, V: 2})
			CachedAttention(s.Value("x", graph.Normal(1), rows, 6), causalMask(s, 3), s.Ints("at", 1, 3, -1), c)
		}
	}
	for name, tc := range map[string]struct {
		build func(s graph.Scope)
		want  string // empty: no error
	}{
		"mask":                    {mask(4, 4), ""},
		"mask for every sequence": {mask(2, 4, 4), ""},
		"mask for every head":     {mask(1, 2, 4, 4), ""},
		"mask for all":            {mask(2, 2, 4, 4), ""},
		"mask of one axis":        {mask(4), "a mask"},
		"mask of five axes":       {mask(1, 1, 1, 4, 4), "a mask"},
		"mask of other queries":   {mask(5, 4), "a mask"},
		"mask of other keys":      {mask(4, 5), "a mask"},
		"mask of other sequences": {mask(3, 4, 4), "a mask"},
		"mask of other heads":     {mask(2, 3, 4, 4), "a mask"},
		"columns of a batch": {func(s graph.Scope) {
			s.Value("x", graph.Normal(1), 2, 8, 3).Columns(0, 2)
		}, "no such columns"},
		"columns before the first": {func(s graph.Scope) {
			s.Value("x", graph.Normal(1), 2, 8).Columns(-1, 2)
		}, "no such columns"},
		"no columns": {func(s graph.Scope) {
			s.Value("x", graph.Normal(1), 2, 8).Columns(2, 2)
		}, "no such columns"},
		"all columns": {func(s graph.Scope) { s.Value("x", graph.Normal(1), 2, 8).Columns(0, 8) }, ""},
		"a matrix by a batch": {
			func(s graph.Scope) {
				s.Value("x", graph.Normal(1), 2, 3).MatMul(s.Value("y", graph.Normal(1), 3, 4, 5))
			},
			"want two matrices, or two batches of the same number",
		},
		"a batch by a matrix": {
			func(s graph.Scope) {
				s.Value("x", graph.Normal(1), 2, 3, 4).MatMul(s.Value("y", graph.Normal(1), 4, 5))
			},
			"want two matrices, or two batches of the same number",
		},
		"batches of other numbers": {
			func(s graph.Scope) {
				s.Value("x", graph.Normal(1), 2, 3, 4).MatMul(s.Value("y", graph.Normal(1), 3, 4, 5))
			},
			"want two matrices, or two batches of the same number",
		},
		"as many as the context": {cached(6), ""},
		"more than the context":  {cached(8), "got 8 tokens, want 1 … 3 for each of 2 sequences"},
		"not as many for each":   {cached(5), "got 5 tokens, want 1 … 3 for each of 2 sequences"},
	} {
		g := graph.New(graph.Float64, 1)
		tc.build(g.Root())
		switch err := g.Err(); {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
		}
	}
}

// Shape returns a copy. A dropout with p = 0 does not change the masks of the others. A cached step has one position,
// in the context.
func TestCopiesAndPositions(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	x := g.Root().Value("x", graph.Normal(1), 2, 3)
	for _, e := range []graph.Expr{x, x.Tanh()} {
		if e.Shape()[0] = 9; e.Shape()[0] != 2 {
			t.Errorf("the shape is %v", e.Shape())
		}
	}
	dropped := func(first float64) []float64 {
		g := graph.New(graph.Float64, 1)
		x := g.Root().Value("x", graph.Const(1), 8, 8)
		p := graphtest.Compile(t, x.Dropout(first).Dropout(0.5))
		return graphtest.Run(t, p).Value().Floats()
	}
	g = graph.New(graph.Float64, 1)
	if want := graphtest.Run(
		t, graphtest.Compile(t, g.Root().Value("x", graph.Const(1), 8, 8).Dropout(0.5)),
	).Value().Floats(); !slices.Equal(dropped(0), want) {
		t.Error("a dropout of nothing changes the mask of the next")
	}
	for _, n := range []int{1, 2, 3} {
		g := graph.New(graph.Float64, 1)
		CachedElman(
			g.Root().Value("x", graph.Normal(1), 2, 4), g.Root().Value("w", graph.Normal(1), 4, 4),
			g.Root().Ints("at", n, 5, -1),
			NewElmanCache(2, 4),
		)
		if err := g.Err(); (err == nil) != (n <= 2) {
			t.Errorf("%d positions: got error %v", n, err)
		}
	}
	g = graph.New(graph.Float64, 1)
	at := g.Root().Ints("at", 1, 5, -1)
	y, _ := cachedLayers["keys and values"].build(g.Root(), g.Root().Value("x", graph.Normal(1), 2, 16), at)
	p := graphtest.Compile(t, y)
	at.Ints()[0] = -1
	if err := p.Run(); err == nil || !strings.Contains(err.Error(), "at[0] is -1, not in 0 … 4") {
		t.Errorf("a step before the first: got error %v", err)
	}
}

// TestScaleByOne checks that a multiplication by 1 is no operation, and a multiplication by 0 is one.
func TestScaleByOne(t *testing.T) {
	x := graph.New(graph.Float64, 1).Root().Param("x", graph.Normal(1), 2, 3)
	if y, _ := Scale(x, 1); y.Operand() != x.Operand() {
		t.Error("a multiplication by 1 is an operation")
	}
	if y, _ := Scale(x, 0); y.Operand() == x.Operand() {
		t.Error("a multiplication by 0 is none")
	}
}
