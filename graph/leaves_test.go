package graph

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Leaf finds a leaf by its name, and Entering a layer's input by its place: the first expression that entered it.
func TestLeavesAndPlaces(t *testing.T) {
	g := New(Float64, 1)
	a, b := g.Root().Value("a", Normal(1), 2, 3), g.Root().Sub("h.0").Param("b", Normal(1), 2, 3)
	for _, want := range []Expr{a, b} {
		if x, ok := g.Leaf(want.Name()); !ok || x.node != want.node {
			t.Errorf("%s: got %v, %t", want.Name(), x.Name(), ok)
		}
	}
	if x, ok := g.Leaf("h.0"); ok || x.node != nil {
		t.Errorf("no leaf: got %v, %t", x.Name(), ok)
	}
	if _, err := g.Entering("h.0"); err == nil {
		t.Error("an expression entered already")
	}
	Expr{}.In(g.Root().Sub("h.0"))
	first := a.Tanh()
	first.In(g.Root().Sub("h.0"))
	b.In(g.Root().Sub("h.0"))
	if x, err := g.Entering("h.0"); err != nil || x.node != first.node {
		t.Error("another expression entered first")
	}
	other := New(Float64, 1)
	if x := a.In(other.Root().Sub("h.1")); x.Graph() != g {
		t.Error("an expression belongs to the graph of a scope that it entered")
	}
	g.Root().Param("a", Const(0), 2)
	if len(g.Params()) != 1 || len(g.Leaves()) != 2 {
		t.Errorf("%d parameters of %d leaves, want 1 of 2: a failed declaration does not count",
			len(g.Params()), len(g.Leaves()))
	}
}

func TestThreads(t *testing.T) {
	g := New(Float64, 1)
	g.SetThreads(3)
	if g.Threads() != 3 || g.Sibling().Threads() != 3 {
		t.Errorf("%d threads, want 3", g.Threads())
	}
	want := g.Threads()
	if g.SetThreads(math.MaxInt); g.Threads() != 4096 {
		t.Errorf("%d threads, want 4096", g.Threads())
	}
	if g.SetThreads(0); g.Threads() != New(Float64, 1).Threads() || g.Threads() == want && want < 3 {
		t.Errorf("%d threads by default, %d of a new graph", g.Threads(), New(Float64, 1).Threads())
	}
}

// Entry i of a parameter is drawn by the generator of its chunk of 65536 entries; the seed is the name's plus the
// chunk's index.
func TestInitialNumbers(t *testing.T) {
	const chunk = 1 << 16
	g := New(Float64, 5)
	x := g.Root().Param("w", Normal(3), 2*chunk+7).Tensor()
	for i, rng := 0, (*rand.Rand)(nil); i < x.Len(); i++ {
		if i%chunk == 0 {
			rng = rand.New(rand.NewPCG(5, hashName("w")+uint64(i/chunk)))
		}
		if want := 3 * rng.NormFloat64(); x.At(i) != want {
			t.Fatalf("entry %d is %v, want %v", i, x.At(i), want)
		}
	}
}

// DropoutMask returns the factors of a scope's dropout; a nil graph has none.
func TestDropoutMask(t *testing.T) {
	g := New(Float64, 5)
	g.SetStep(4)
	s := g.Root().Sub("h.0")
	x := g.Root().Value("x", Const(1), 5, 7)
	got := values(t, x.In(s).Dropout(0.4))
	checkClose(t, "mask", got, g.DropoutMask("h.0", 0.4, 35), 0)
	if !slices.Contains(got, 0) || slices.Max(got) == 0 {
		t.Errorf("the mask is %v", got)
	}
	if y := (Expr{}).Dropout(0.5); y.node != nil {
		t.Error("nothing has a dropout")
	}
}

// A copy of a tensor shares no memory with it. Finite names an entry that is not finite, wherever it is.
func TestTensors(t *testing.T) {
	for _, x := range []Tensor{
		{Shape: []int{1, 3}, F32: []float32{1, 2, 3}}, {Shape: []int{1, 3}, F64: []float64{1, 2, 3}},
	} {
		y := x.Clone()
		y.Set(0, 7)
		if y.Shape[0] = 9; x.At(0) != 1 || x.Shape[0] != 1 || y.At(2) != 3 || (y.F32 == nil) != (x.F32 == nil) {
			t.Errorf("%v is not a copy of %v", y, x)
		}
		if err := x.Finite("w"); err != nil {
			t.Error(err)
		}
		for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			bad := x.Clone()
			bad.Set(i, v)
			if err := bad.Finite("w"); !errors.Is(err, ErrNotFinite) ||
				!strings.HasPrefix(err.Error(), fmt.Sprintf("w: entry %d is %v", i, v)) {
				t.Errorf("%v: got error %v", v, err)
			}
		}
	}
	if r := (Tensor{Shape: []int{2, 2}, F32: []float32{1, 2, 3, 4}}).Row(1); r.F64 != nil || r.Len() != 2 {
		t.Errorf("a row is %v", r)
	}
}

// A graph that could not be built has neither picture nor table: Dot and Summary return its error.
func TestNoPictureOfErrors(t *testing.T) {
	g := New(Float64, 1)
	g.Root().Value("x", Normal(1), 2, 3).Reshape(7)
	for name, draw := range map[string]func(*bytes.Buffer) error{
		"dot":     func(b *bytes.Buffer) error { return g.Dot(b, "") },
		"summary": func(b *bytes.Buffer) error { return g.Summary(b) },
	} {
		var b bytes.Buffer
		if err := draw(&b); err == nil || err != g.Err() || b.Len() > 0 {
			t.Errorf("%s: got error %v and %q", name, err, b.String())
		}
	}
}

// Frames are nested, even below a scope that is not a layer, and names are quoted.
func TestPictures(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Value("x", Normal(1), 2, 3)
	for _, path := range []string{"h.0.a.b", "h.1", `h.q"t`} {
		s := g.Root().Sub("%s", path)
		x = x.In(s).Mul(s.Param("w", Normal(1), 3)).Tanh()
	}
	for scope, want := range map[string][]string{
		"":    {`cluster_h.0"`, `cluster_h.0.a"`, `cluster_h.0.a.b"`, `cluster_h.1"`, `cluster_h.q\"t"`},
		"h":   {`cluster_h"`, `cluster_h.0"`, `cluster_h.0.a"`, `cluster_h.0.a.b"`, `cluster_h.1"`, `cluster_h.q\"t"`},
		"h.0": {`cluster_h.0"`, `cluster_h.0.a"`, `cluster_h.0.a.b"`},
		"h.1": {`cluster_h.1"`},
	} {
		var b bytes.Buffer
		if err := g.Dot(&b, scope); err != nil {
			t.Fatal(err)
		}
		for _, frame := range want {
			if strings.Count(b.String(), `subgraph "`+frame) != 1 {
				t.Errorf("%q: no frame %s, or two, in\n%s", scope, frame, b.String())
			}
		}
		if strings.Contains(b.String(), `cluster_"`) {
			t.Errorf("%q: a frame without a name", scope)
		}
	}
}

// Operations outside all layers form the top row of the table, and a layer that is entered again has one row.
func TestSummaryOfTheTop(t *testing.T) {
	g := New(Float64, 1)
	x, s := g.Root().Param("x", Normal(1), 2, 3), g.Root().Sub("h")
	w := s.Param("w", Normal(1), 3, 5)
	y := x.Tanh().In(s).MatMul(w).In(g.Root()).Columns(0, 3).In(s).MatMul(w)
	g.Root().Sub("idle").Param("a", Normal(1), 4)
	g.Root().Sub("idle").Param("b", Normal(1), 6)
	var b bytes.Buffer
	if err := g.Summary(&b); err != nil || y.node == nil {
		t.Fatal(err, g.Err())
	}
	want := "layer   output   parameters\n(top)   (2, 3)    6\nh       (2, 5)   15\nidle    unused   10\ntotal      " +
		"      31\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// More scopes with numbers, and some that only look numbered.
func TestNumberedParents(t *testing.T) {
	for path, want := range map[string]string{
		"a.h.9": "a", "a.h.9.b": "a.h.9", "a.h.0": "a", "a.h.5x": "a", "a.h.:": "a.h", "a.h./": "a.h", "a.b": "a",
		"a.x0": "a", "": "", "a.": "a", ".7": "", "7": "",
	} {
		if got := parent(path); got != want {
			t.Errorf("around %q: got %q, want %q", path, got, want)
		}
	}
}

// Too many integers are an error before they are allocated.
func TestTooManyIntegers(t *testing.T) {
	g := Outline(Float32)
	if g.Root().Ints("many", 1<<40+1, 7, NoneIgnored); g.Err() == nil {
		t.Error("more integers than any memory holds")
	}
}

// An expression that stays inside a layer does not leave it, and the output of a nested layer leaves both.
func TestLeaving(t *testing.T) {
	g := New(Float64, 1)
	a, b := g.Root().Sub("h.0.a"), g.Root().Sub("h.0.b")
	inside := g.Root().Value("x", Normal(1), 2, 3).In(a).Tanh()
	out := inside.In(b).Exp()
	out.In(g.Root().Sub("h.1"))
	for path, want := range map[string]Expr{"h.0.a": inside, "h.0.b": out, "h.0": out} {
		if got, err := g.Leaving(path); err != nil || got.node != want.node {
			t.Errorf("%s: another expression leaves it, or none: %v", path, err)
		}
	}
}

// A zero Scope declares nothing, and its results have an error.
func TestScopeOfNothing(t *testing.T) {
	if g := (*Graph)(nil); g.Params() != nil || g.Leaves() != nil || g.Outlined() {
		t.Error("a nil graph has leaves")
	}
	for name, declare := range map[string]func(Scope) Expr{
		"Param": func(s Scope) Expr { return s.Param("x", Const(1), 2) },
		"Value": func(s Scope) Expr { return s.Value("x", Const(1), 2) },
		"Ints":  func(s Scope) Expr { return s.Ints("x", 2, 3, -1) },
	} {
		g := New(Float64, 1)
		named := map[string]func(Scope) Expr{
			"Param": func(s Scope) Expr { return s.Param("", Const(1), 2) },
			"Value": func(s Scope) Expr { return s.Value("", Const(1), 2) },
			"Ints":  func(s Scope) Expr { return s.Ints("", 2, 3, -1) },
		}[name]
		if named(g.Root()); g.Err() == nil || g.Err().Error() != "a parameter or input without a name" ||
			len(g.Leaves()) != 0 {
			t.Errorf("%s without a name: got error %v", name, g.Err())
		}
		if err := declare(Scope{}).Graph().Err(); err == nil || !strings.HasPrefix(err.Error(), "no graph: ") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

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
			// the result of an operation has no numbers
			"0 numbers for a tensor (2, 3) of 6": x.Tensor().Copy(x.Square().Tensor()),
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
	if want := `nothing enters "h.1.mpl": the nearest of 4 places are "h.1.mlp", "h.1", "h.0", "h.0.attn"`; err ==
		nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = g.Leaving("h.1.mlp")
	if want := `nothing leaves "h.1.mlp": the nearest of 2 places are "h.0", "h.0.attn"`; err == nil ||
		err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, place := range []string{"h.2", "typo", ""} {
		g.Recompute("h.0", place)
		if _, err := Compile(y.SumAll(), x); err == nil ||
			err.Error()[:len("recompute: nothing is computed in \""+place)] != "recompute: nothing is computed in \""+
				place {
			t.Errorf("%q: got error %v", place, err)
		}
	}
	g.Recompute("h.0")
	mustCompile(t, y.SumAll(), x)
	if _, err := New(Float64, 1).Entering("h"); err == nil {
		t.Error("a place of an empty graph")
	}
}

// PackColumns accepts only widths that fill the columns of a matrix, and a single one is no packing.
func TestPackColumns(t *testing.T) {
	for _, tc := range []struct {
		shape, widths []int
		want          string
	}{
		{[]int{2, 9}, []int{4, 3, 2}, ""},
		{[]int{2, 9}, []int{9}, ""},
		{[]int{2, 9}, []int{4, 4}, "s.w: matrices of [4 4] columns side by side, in shape (2, 9)"},
		{[]int{2, 9}, []int{10, -1}, "s.w: matrices of [10 -1] columns"},
		{[]int{9}, []int{4, 5}, "s.w: matrices of [4 5] columns"},
	} {
		g := New(Float32, 1)
		x := g.Root().Sub("s").Param("w", Const(1), tc.shape...)
		x.PackColumns(tc.widths...)
		want := tc.widths
		if len(want) == 1 || tc.want != "" {
			want = nil
		}
		if err := g.Err(); !slices.Equal(x.PackedColumns(), want) || (err != nil) != (tc.want != "") ||
			err != nil && !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%v: got %v and error %v, want %v and %q", tc.widths, x.PackedColumns(), err, want, tc.want)
		}
	}
	x := New(Float32, 1).Root().Param("w", Const(1), 2, 2)
	y := x.Square()
	if y.PackColumns(1, 1); x.Graph().Err() == nil {
		t.Error("a result is packed: got no error")
	}
}
