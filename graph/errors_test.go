package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	pkgerrors "github.com/pkg/errors"
	"gonum.org/v1/gonum/blas"
	G "gorgonia.org/gorgonia"
)

// TestErrorMessages: an error contains the layer, the operation, the operands by name and shape, and the reason. The
// first error counts.
func TestErrorMessages(t *testing.T) {
	for _, c := range []struct {
		want  string
		build func(s Scope, x Expr) Expr // x is (16, 32)
	}{
		{"h.3.ln_1: mul (16, 32), h.3.ln_1.weight (48): shapes differ and do not broadcast",
			func(s Scope, x Expr) Expr {
				s = s.Sub("ln_1")
				return x.Scale(2).In(s).Mul(s.Param("weight", Const(1), 48))
			}},
		{"h.3: add x (16, 32), h.3.y (2, 16, 32): shapes differ and do not broadcast", func(s Scope, x Expr) Expr {
			return x.In(s).Add(s.Param("y", Const(1), 2, 16, 32))
		}},
		{"h.3: matmul x (16, 32), h.3.w (31, 4): inner sizes 32 and 31 differ", func(s Scope, x Expr) Expr {
			return x.In(s).MatMul(s.Param("w", Const(1), 31, 4))
		}},
		{"h.3: linear x (16, 32), h.3.w (31, 4): 32 features, the weight takes 31", func(s Scope, x Expr) Expr {
			y, _ := Linear(x.In(s), s.Param("w", Const(1), 31, 4), Expr{})
			return y
		}},
		{"h.3: linear x (16, 32), h.3.w (32, 4), h.3.b (5): a bias of 5 for 4 outputs", func(s Scope, x Expr) Expr {
			y, _ := Linear(x.In(s), s.Param("w", Const(1), 32, 4), s.Param("b", Const(1), 5))
			return y
		}},
		{"h.3: layernorm x (16, 32), h.3.w (33): 33 gains for 32 features", func(s Scope, x Expr) Expr {
			y, _ := LayerNorm(x.In(s), s.Param("w", Const(1), 33), Expr{}, 1e-5)
			return y
		}},
		{"h.3: layernorm x (16, 32), h.3.b (32): shifts without gains", func(s Scope, x Expr) Expr {
			y, _ := LayerNorm(x.In(s), Expr{}, s.Param("b", Const(0), 32), 1e-5)
			return y
		}},
		{
			"h.3: dropout(-0.1) x (16, 32): probability -0.1 is not in 0 ≤ p < 1",
			func(s Scope, x Expr) Expr { return x.In(s).Dropout(-0.1) },
		},
		{
			"h.3: dropout(1) x (16, 32): probability 1 is not in 0 ≤ p < 1",
			func(s Scope, x Expr) Expr { return x.In(s).Dropout(1) },
		},
		{
			"h.3: dropout(NaN) x (16, 32): probability NaN is not in 0 ≤ p < 1",
			func(s Scope, x Expr) Expr { return x.In(s).Dropout(math.NaN()) },
		},
		{"h.3: attention x (16, 32), h.3.mask (8, 8): probability 1.5 is not in 0 ≤ p < 1", func(s Scope, x Expr) Expr {
			y, _ := Attention(
				x.In(s), s.Value("mask", Const(0), 8, 8), AttentionShape{Batch: 2, Context: 8, Heads: 2, QK: 4, V: 8},
				1.5,
			)
			return y
		}},
		{
			"h.3: reshape to (5, 5) x (16, 32): 512 entries cannot become 25",
			func(s Scope, x Expr) Expr { return x.In(s).Reshape(5, 5) },
		},
		{"h.3: columns 30:33 x (16, 32): no such columns", func(s Scope, x Expr) Expr { return x.In(s).Cols(30, 33) }},
		{"h.3: join x (16, 32), h.3.y (15, 2): 16 and 15 rows", func(s Scope, x Expr) Expr {
			return x.In(s).Join(s.Param("y", Const(1), 15, 2))
		}},
		{"h.3: mean (): a scalar has no last axis", func(s Scope, x Expr) Expr { return x.In(s).SumAll().Mean() }},
		{"h.3: gather x (16, 32), h.3.ids (4): ids up to 16 for 16 rows", func(s Scope, x Expr) Expr {
			return x.In(s).Gather(s.Ints("ids", 4, 17, -1))
		}},
		{"h.3: gather x (16, 32), h.3.ids (4): ids up to 16 for 16 rows", func(s Scope, x Expr) Expr {
			y, _ := Gather(x.In(s), s.Ints("ids", 4, 17, -1))
			return y
		}},
		{
			"h.3: gather x (16, 32), x (16, 32): want integers declared by Ints",
			func(s Scope, x Expr) Expr { return x.In(s).Gather(x) },
		},
		{
			"h.3: one-hot h.3.ids (4): ids up to 16 for 16 classes",
			func(s Scope, x Expr) Expr { return s.Ints("ids", 4, 17, -1).OneHot(16) },
		},
		{"h.3: cross entropy x (16, 32), h.3.ids (16): ids up to 32 for 32 classes", func(s Scope, x Expr) Expr {
			y, _ := CrossEntropy(x.In(s), s.Ints("ids", 16, 33, -1), true, 0, 0)
			return y
		}},
		{"h.3: cross entropy x (16, 32), h.3.ids (15): 16 rows of logits for 15 targets", func(s Scope, x Expr) Expr {
			y, _ := CrossEntropy(x.In(s), s.Ints("ids", 15, 32, -1), true, 0, 0)
			return y
		}},
		{
			"h.3: add x (16, 32), (): an operand is empty or belongs to another graph",
			func(s Scope, x Expr) Expr { return x.In(s).Add(Expr{}) },
		},
		{
			"h.3: mul (), x (16, 32): an operand is empty or belongs to another graph",
			func(s Scope, x Expr) Expr { return Expr{}.Mul(x.In(s)) },
		},
		{
			"h.3: scale by 2 (): an operand is empty or belongs to another graph",
			func(s Scope, x Expr) Expr { return Expr{}.In(s).Scale(2) },
		},
		{"h.3: mul x (16, 32), x (16, 32): an operand is empty or belongs to another graph",
			func(s Scope, x Expr) Expr {
				return x.In(s).Mul(New(Float64, 1).Root().Value("x", Const(1), 16, 32))
			}},
		{"h.3.attn: 5 heads do not divide 32 features", func(s Scope, x Expr) Expr {
			s.Sub("attn").Failf("%d heads do not divide %d features", 5, 32)
			s.Sub("mlp").Failf("a second error")
			return x
		}},
		{"h.3: wrap x (16, 32): no such operation", func(s Scope, x Expr) Expr {
			return x.In(s).Wrap(nil, errors.New("no such operation"))
		}},
	} {
		g := New(Float64, 1)
		x := g.Root().Value("x", Normal(1), 16, 32)
		y := c.build(g.Root().Sub("h.%d", 3), x)
		for _, e := range []Expr{y.Add(x).Mean(), y.Exp().SumAll()} { // later operations pass the error on
			if e.Shape() != nil || e.node != nil {
				t.Errorf("%s: a result after the failure has shape %v", c.want, e.Shape())
			}
			y = e.Wrap(G.Tanh(e.Node())) // Gorgonia panics on nil
			y = y.Wrap(G.HadamardProd(x.Node(), y.Node()))
		}
		_, err := Compile(y.SumAll(), x)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
			continue
		}
		if _, ok := err.(interface{ StackTrace() pkgerrors.StackTrace }); !ok {
			t.Errorf("%s: no stack", c.want)
		}
	}
}

// TestSizesAreCheckedBeforeAllocation: none of these tensors would fit in memory.
func TestSizesAreCheckedBeforeAllocation(t *testing.T) {
	const limits = "every size must be positive and their product at most 2^40"
	for _, shape := range [][]int{
		{0}, {-1}, {3, 0}, {-3, -5}, {1<<40 + 1}, {1 << 20, 1 << 21}, {1 << 62, 1 << 62}, {1 << 40, 1 << 24},
	} {
		for _, declare := range []func(s Scope) Expr{
			func(s Scope) Expr { return s.Param("weight", Const(0), shape...) },
			func(s Scope) Expr { return s.Value("weight", Const(0), shape...) },
		} {
			g := New(Float32, 1)
			declare(g.Root().Sub("wte"))
			err := g.Err()
			if err == nil || !strings.HasPrefix(err.Error(), "wte.weight: shape (") ||
				!strings.HasSuffix(err.Error(), limits) {
				t.Errorf("%v: got %v", shape, err)
			}
		}
	}
	for _, n := range []int{0, -1, 1 << 50} {
		g := New(Float32, 1)
		g.Root().Ints("tokens", n, 2, -1)
		if want, err := fmt.Sprintf(
			"tokens: got %d integers, want at least 1 and at most 2^40", n,
		), g.Err(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	if _, err := Compile(Expr{}); err == nil || !strings.Contains(err.Error(), "the expression is empty") {
		t.Errorf("nothing: got %v", err)
	}
	g := New(Float64, 1)
	if _, err := Compile(Expr{}.In(g.Root())); err == nil || !strings.Contains(err.Error(), "the expression is empty") {
		t.Errorf("nothing of a graph: got %v", err)
	}
	x := g.Root().Param("x", Normal(1), 2, 3)
	if _, err := Compile(x.Square(), x); err == nil ||
		err.Error() != "want a scalar to differentiate, got shape (2, 3)" {
		t.Errorf("a matrix: got %v", err)
	}
	other := New(Float64, 1).Root().Param("other", Normal(1), 2, 3)
	if _, err := Compile(x.SumAll(), other); err == nil ||
		err.Error() != `"other" is empty or belongs to another graph` {
		t.Errorf("another graph's parameter: got %v", err)
	}
}

// TestRunRefusesIdsOutOfRange: the run fails before anything is computed, and the error names the input, the index and
// the range.
func TestRunRefusesIdsOutOfRange(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := New(Float64, 1)
		g.Kernels = kernels
		table := g.Root().Param("wte.weight", Normal(1), 5, 3)
		ids, targets := g.Root().Ints("tokens", 2, 5, -1), g.Root().Ints("targets", 2, 3, -1)
		rows := table.Gather(ids)
		if y, ok := Gather(table, ids); ok {
			rows = y
		}
		loss, ok := CrossEntropy(rows, targets, true, 0, 0)
		if !ok {
			loss = rows.Mul(targets.OneHot(3)).SumAll()
		}
		p := mustCompile(t, loss, table)
		for _, c := range []struct {
			ids, targets [2]int
			want         string
		}{
			{[2]int{0, 5}, [2]int{}, "tokens[1] is 5, not in 0 … 4"},
			{[2]int{-2, 0}, [2]int{}, "tokens[0] is -2, not in 0 … 4"},
			{[2]int{-1, 0}, [2]int{}, "tokens[0] is -1, not in 0 … 4"}, // an ignored id has no row
			{[2]int{4, 0}, [2]int{0, 3}, "targets[1] is 3, not in 0 … 2"},
			{[2]int{4, 0}, [2]int{-1, 2}, ""}, // a target may be ignored
		} {
			copy(ids.Ints(), c.ids[:])
			copy(targets.Ints(), c.targets[:])
			err := p.Run()
			if got := fmt.Sprint(err); got != c.want && !(err == nil && c.want == "") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		}
	}
}

// Operands that do not fit are an error that names valid shapes, and no panic: masks of other sizes or axes, columns of
// something other than a matrix, products with another number of axes, and more new tokens than the context has.
func TestShapesThatDoNotFit(t *testing.T) {
	mask := func(shape ...int) func(s Scope) {
		return func(s Scope) {
			Attention(
				s.Value("x", Normal(1), 8, 24), s.Value("mask", Const(0), shape...),
				AttentionShape{Batch: 2, Context: 4, Heads: 2, QK: 4, V: 4}, 0,
			)
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
		"a matrix by a batch": {
			func(s Scope) { s.Value("x", Normal(1), 2, 3).MatMul(s.Value("y", Normal(1), 3, 4, 5)) },
			"want two matrices, or two batches of the same number",
		},
		"a batch by a matrix": {
			func(s Scope) { s.Value("x", Normal(1), 2, 3, 4).MatMul(s.Value("y", Normal(1), 4, 5)) },
			"want two matrices, or two batches of the same number",
		},
		"batches of other numbers": {
			func(s Scope) { s.Value("x", Normal(1), 2, 3, 4).MatMul(s.Value("y", Normal(1), 3, 4, 5)) },
			"want two matrices, or two batches of the same number",
		},
		"as many as the context": {cached(6), ""},
		"more than the context":  {cached(8), "got 8 tokens, want 1 … 3 for each of 2 sequences"},
		"not as many for each":   {cached(5), "got 5 tokens, want 1 … 3 for each of 2 sequences"},
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
		"h.0.attn.c_proj": "h.0.attn", "h.0.attn": "h.0", "h.0": "", "h.12": "", "wte": "", "decoder.h.3": "decoder",
		"decoder.h.3.mlp": "decoder.h.3",
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
	for sizes, want := range map[[3]int]string{
		{0, 2, 2}: "[1 2 3 4]", {2, 0, 2}: "[1 2 3 4]", {1, 2, 2}: "[2 4 3 4]", {2, 1, 2}: "[2 2 6 4]",
	} {
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
	if want := mustRun(
		t, mustCompile(t, g.Root().Value("x", Const(1), 8, 8).Dropout(0.5)),
	).Value().Floats(); !slices.Equal(dropped(0), want) {
		t.Error("a dropout of nothing changes the mask of the next")
	}
	for _, n := range []int{1, 2, 3} {
		g := New(Float64, 1)
		CachedElman(
			g.Root().Value("x", Normal(1), 2, 4), g.Root().Value("w", Normal(1), 4, 4), g.Root().Ints("at", n, 5, -1),
			NewElmanCache(2, 4),
		)
		if err := g.Err(); (err == nil) != (n <= 2) {
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
