package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"gonum.org/v1/gonum/blas"
)

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
