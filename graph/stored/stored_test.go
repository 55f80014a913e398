package stored_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
)

// packable returns a table that is looked up and multiplied by, a matrix with a bias, one that another operation reads
// as well, and one that is too narrow to take less memory.
func packable(g *graph.Graph) (all graph.Expr) {
	s := g.Root()
	wte, w := s.Param("wte", graph.Normal(1), 67, 96), s.Param("w", graph.Normal(1), 96, 70)
	other := s.Param("other", graph.Normal(1), 70, 96)
	narrow, b := s.Param("narrow", graph.Normal(1), 96, 2), s.Param("b", graph.Normal(1), 70)
	x, _ := fused.Gather(wte, s.Ints("ids", 3, 67, -1))
	y, _ := fused.Linear(x, w, b)
	z, _ := fused.Linear(y, other, graph.Expr{})
	n, _ := fused.Linear(z, narrow, graph.Expr{})
	logits, _ := fused.LinearT(z, wte)
	return logits.Join(n, y.MatMul(other), x)
}

// unpacked returns the numbers of a packed parameter, by an operation that does not read it packed.
func unpacked(t *testing.T, x graph.Expr) graph.Tensor {
	t.Helper()
	return graphtest.Run(t, graphtest.Compile(t, x.Detach())).Value()
}

// Weights of int4 compute what their unpacked numbers do, up to the rounding of the other factor. Matrices whose inputs
// do not fill blocks of 32 stay.
func TestPackedInt4(t *testing.T) {
	g := graph.New(graph.Float32, 1)
	packable(g)
	s, err := g.Packed(stored.Int4)
	if err != nil {
		t.Fatal(err)
	}
	out := packable(s)
	if got, want := s.WeightBytes(), (67+70+2)*96/32*18+4*(70*96+70); got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
	got := graphtest.Run(t, graphtest.Compile(t, out)).Value()
	loose := graph.New(graph.Float32, 1)
	want := packable(loose)
	for _, x := range s.Params() {
		if x.Tensor().Len() == 0 {
			into, _ := loose.Leaf(x.Name())
			copy(into.Tensor().F32, unpacked(t, x).F32)
		}
	}
	exact := graphtest.Run(t, graphtest.Compile(t, want)).Value()
	far, top := 0.0, 0.0
	for i, x := range exact.Floats() {
		far, top = max(far, math.Abs(got.At(i)-x)), max(top, math.Abs(x))
	}
	if !(far <= 0.02*top) || far == 0 {
		t.Errorf("got %v of %v away, want within 0.02 of it, and not 0", far, top)
	}
}

// Rows of a file are read where they are, in any order of outputs; what does not fit is refused.
func TestStore(t *testing.T) {
	like := graph.Outline(graph.Float32)
	s := like.Root()
	w, b := s.Param("w", graph.Const(0), 32, 2), s.Param("b", graph.Const(0), 2)
	x := s.Value("x", graph.Const(1), 1, 32)
	if _, ok := fused.Linear(x, w, b); !ok {
		t.Fatal(like.Err())
	}
	if !w.Readable() || b.Readable() || (graph.Expr{}).Readable() {
		t.Errorf("got %t, %t, want true, false", w.Readable(), b.Readable())
	}
	data := make([]byte, 2*34) // two rows of Q8_0: d = 1, n = 3 and d = 1, n = −1
	for row, n := range []byte{3, 0xff} {
		data[34*row+1] = 0x3c
		for i := range 32 {
			data[34*row+2+i] = n
		}
	}
	rows := stored.Rows{Type: blocks.Q8_0, Data: data, Output: []int{1, 0}}
	g := graph.New(graph.Float32, 1)
	if err := stored.Store(g, w, rows); err != nil {
		t.Fatal(err)
	}
	r := g.Root()
	half, ones := r.Param("b", graph.Const(0.5), 2), r.Value("x", graph.Const(1), 1, 32)
	y, _ := fused.Linear(ones, r.Param("w", graph.Const(0), 32, 2), half)
	if got := graphtest.Run(t, graphtest.Compile(t, y)).Value().Floats(); !slices.Equal(got, []float64{-31.5, 96.5}) {
		t.Errorf("got %v, want [-31.5 96.5]", got)
	}
	bad := slices.Clone(data)
	bad[1] = 0x7c
	store := func(like graph.Expr, rows ...stored.Rows) error {
		return stored.Store(graph.New(graph.Float32, 1), like, rows...)
	}
	for want, err := range map[string]error{
		"want a matrix that Linear": store(b, rows),
		"need a float32 graph":      stored.Store(graph.New(graph.Float64, 1), w, rows),
		"weights: w: output 0 of 2": store(w),
		"weights: w: Q8_0: got 34 bytes": store(w, stored.Rows{
			Type: blocks.Q8_0, Data: data[:34], Output: []int{0, 1},
		}),
		"weights: w: output 1 has a": store(w, stored.Rows{Type: blocks.Q8_0, Data: bad, Output: []int{1, 0}}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// Rows of a table that is only looked up are its tokens.
func TestStoreTable(t *testing.T) {
	lookUp := func(g *graph.Graph) graph.Expr {
		s := g.Root()
		y, _ := fused.Gather(s.Param("table", graph.Const(0), 3, 2), s.Ints("ids", 2, 3, -1))
		return y
	}
	like := graph.Outline(graph.Float32)
	lookUp(like)
	table, _ := like.Leaf("table")
	data, err := blocks.F32.Encode(nil, []float32{1, 2, 3, 4, 5, 6})
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New(graph.Float32, 1)
	if err := stored.Store(g, table, stored.Rows{Type: blocks.F32, Data: data, Output: []int{2, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	y := lookUp(g)
	ids, _ := g.Leaf("ids")
	copy(ids.Ints(), []int{1, 2})
	if got := graphtest.Run(t, graphtest.Compile(t, y)).Value().Floats(); !slices.Equal(got, []float64{5, 6, 1, 2}) {
		t.Errorf("got %v, want [5 6 1 2]", got)
	}
}

// A graph with packed matrices computes the same bits as one whose matrices hold the unpacked numbers. The exception is
// a tied head with one row, which adds up in another order.
func TestPackedGraph(t *testing.T) {
	for _, p := range []stored.Packing{stored.BF16, stored.Int8} {
		g := graph.New(graph.Float32, 1)
		packable(g)
		s, err := g.Packed(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.Params() { // it keeps the old numbers
			clear(g.Params()[i].Tensor().F32)
		}
		out := packable(s)
		bytes := map[stored.Packing]int{
			stored.BF16: 2*128*96 + 2*128*96 + 2*128*70, stored.Int8: 128*(96+4) + 128*(96+4) + 128*(70+4),
		}[p] + 4*(2*96+70)
		if s.WeightBytes() != bytes || g.WeightBytes() != 4*(67*96+96*70+70*96+96*2+70) {
			t.Errorf("%s: %d bytes of %d, want %d", p, s.WeightBytes(), g.WeightBytes(), bytes)
		}
		got := graphtest.Run(t, graphtest.Compile(t, out))
		if want := bytes + 4*70*96; s.WeightBytes() != want {
			t.Errorf("%s: %d bytes after a matrix was unpacked, want %d", p, s.WeightBytes(), want)
		}
		loose := graph.New(graph.Float32, 1)
		want := packable(loose)
		var packed []string
		for _, x := range s.Params() {
			if x.Tensor().Len() > 0 {
				continue
			}
			packed = append(packed, x.Name())
			into, _ := loose.Leaf(x.Name())
			numbers := unpacked(t, x).F32
			if slices.Equal(into.Tensor().F32, numbers) {
				t.Errorf("%s, %s: nothing was rounded", p, x.Name())
			}
			copy(into.Tensor().F32, numbers)
			if shape := x.Tensor(); shape.Len() != 0 || !slices.Equal(shape.Shape, into.Tensor().Shape) {
				t.Errorf("%s, %s: got %d numbers of shape %v, want none of %v",
					p, x.Name(), shape.Len(), shape.Shape, into.Tensor().Shape)
			}
		}
		if want := []string{"wte", "w", "other"}; !slices.Equal(packed, want) {
			t.Errorf("%s: the packed matrices are %v, want %v", p, packed, want)
		}
		allowed := map[bool]float64{true: 1e-5}[graph.Instructions() == "Go"] // gonum adds in a different order
		for i, v := range graphtest.Run(t, graphtest.Compile(t, want)).Value().F32 {
			if d := math.Abs(float64(got.Value().F32[i] - v)); !(d <= allowed*max(100, math.Abs(float64(v)))) {
				t.Fatalf("%s, entry %d: got %v, with the matrices unpacked %v", p, i, got.Value().F32[i], v)
			}
		}
		if s.Root().Param("w2", graph.Const(0), 3); s.Err() != nil {
			t.Error(s.Err())
		}
		if s = s.Sibling(); s.Root().Param("w", graph.Const(0), 70, 96).Tensor().Len() > 0 ||
			!strings.Contains(fmt.Sprint(s.Err()), "w: shape [70 96], but the shared parameter has [96 70]") {
			t.Errorf("%s: another shape: got error %v", p, s.Err())
		}
	}
}

// TestSaves checks which matrices are packed: those that need less memory, and in Int4 only whole blocks.
func TestSaves(t *testing.T) {
	for _, c := range []struct {
		p    stored.Packing
		k, n int
		want bool
	}{
		{stored.BF16, 96, 70, true}, {stored.BF16, 96, 2, false}, {stored.BF16, 2, 96, false},
		{stored.BF16, 33, 32, false}, {stored.BF16, 33, 33, true}, // strips of 64 columns take 2·64 bytes a row
		{stored.Int8, 96, 18, true}, {stored.Int8, 96, 16, false}, {stored.Int8, 16, 96, false},
		{stored.Int4, 96, 2, true}, {stored.Int4, 70, 96, false},
		{stored.BF16, 0, 0, false}, {stored.Int4, 0, 96, false}, {stored.Int4, 96, 0, false},
	} {
		if got := c.p.Saves(c.k, c.n); got != c.want {
			t.Errorf("%s (%d, %d): got %t, want %t", c.p, c.k, c.n, got, c.want)
		}
	}
}

// other is a matrix of other sizes than those that StorePacked asks for.
type other struct{ graph.Weights }

func (other) Size() (k, n int) { return 31, 2 }

// TestFormatsAreChecked checks that a graph refuses a format or a matrix that is missing, unknown or of other sizes.
func TestFormatsAreChecked(t *testing.T) {
	nothing := func(int, int) (graph.Weights, error) { return nil, nil }
	like := graph.Outline(graph.Float32)
	w := like.Root().Param("w", graph.Const(0), 32, 2)
	fused.Linear(like.Root().Value("x", graph.Const(1), 1, 32), w, graph.Expr{})
	packed := func(p graph.Packing) error {
		_, err := graph.New(graph.Float32, 1).Packed(p)
		return err
	}
	pack := func(p stored.Packing, numbers int, shape ...int) error {
		x := make([]float32, numbers)
		for i := range x {
			x[i] = math.MaxFloat32
		}
		_, err := p.Pack(nil, graph.Tensor{Shape: shape, F32: x}, false)
		return err
	}
	store := func(w graph.Expr, read func(k, n int) (graph.Weights, error)) error {
		return graph.New(graph.Float32, 1).StorePacked(w, read)
	}
	for want, err := range map[string]error{
		"weights: got no packing, want a format":        packed(nil),
		`weights: got "int5", want bf16, int8 or int4`:  packed(stored.Packing("int5")),
		"got 3 numbers of float32 in shape [2 2], want": pack(stored.BF16, 3, 2, 2),
		"got 0 numbers of float32 in shape [0 2], want": pack(stored.Int8, 0, 0, 2),
		"a number too large for bf16":                   pack(stored.BF16, 2, 1, 2),
		"got 2 inputs, want a multiple of 32":           pack(stored.Int4, 2, 2, 1),
		"a number too large for int4":                   pack(stored.Int4, 32, 32, 1),
		"weights: w: got no function":                   store(w, nil),
		"weights: w: got none, want (32, 2)":            store(w, nothing),
		"weights: w: got (31, 2), want (32, 2)": store(w, func(int, int) (graph.Weights, error) {
			return other{}, nil
		}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
