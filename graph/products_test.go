package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// TestProducts compares the Sgemm installed by UseBLAS with gonum's, in all four forms and with leading dimensions.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := products{pool: kernel.NewPool(2)}
	for range 60 {
		m, n, k := 1+rng.IntN(70), 1+rng.IntN(70), 1+rng.IntN(70)
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				rowsA, lda := m, k+rng.IntN(3)
				if tA == blas.Trans {
					rowsA, lda = k, m+rng.IntN(3)
				}
				rowsB, ldb := k, n+rng.IntN(3)
				if tB == blas.Trans {
					rowsB, ldb = n, k+rng.IntN(3)
				}
				ldc := n + rng.IntN(3)
				a, b, c := random(rng, rowsA*lda), random(rng, rowsB*ldb), random(rng, m*ldc)
				want := append([]float32{}, c...)
				alpha, beta := rng.Float32(), rng.Float32()
				p.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
				gonum.Implementation{}.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, want, ldc)
				for i, w := range want {
					if d := c[i] - w; !(d <= 1e-5 && d >= -1e-5) {
						t.Fatalf("(%d, %d, %d) %c %c: entry %d is %v, want %v", m, n, k, tA, tB, i, c[i], w)
					}
				}
			}
		}
	}
}

func random(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = rng.Float32() - 0.5
	}
	return x
}

// packable returns a table that is looked up and multiplied by, a matrix with a bias, one that another operation reads
// as well, and one that is too narrow to take less memory.
func packable(g *Graph) (all Expr) {
	s := g.Root()
	wte, w := s.Param("wte", Normal(1), 67, 96), s.Param("w", Normal(1), 96, 70)
	other := s.Param("other", Normal(1), 70, 96)
	narrow, b := s.Param("narrow", Normal(1), 96, 2), s.Param("b", Normal(1), 70)
	x, _ := Gather(wte, s.Ints("ids", 3, 67, -1))
	y, _ := Linear(x, w, b)
	z, _ := Linear(y, other, Expr{})
	n, _ := Linear(z, narrow, Expr{})
	logits, _ := LinearT(z, wte)
	return logits.Join(n, y.MatMul(other), x)
}

// Weights of int4 compute what their unpacked numbers do, up to the rounding of the other factor. Matrices whose inputs
// do not fill blocks of 32 stay.
func TestPackedInt4(t *testing.T) {
	g := New(Float32, 1)
	packable(g)
	s, err := g.Packed(Int4)
	if err != nil {
		t.Fatal(err)
	}
	out := packable(s)
	if got, want := s.WeightBytes(), (67+70+2)*96/32*18+4*(70*96+70); got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
	got := mustRun(t, mustCompile(t, out)).Value()
	loose := New(Float32, 1)
	want := packable(loose)
	for _, x := range s.Params() {
		if dense := s.unpacked(x.name); dense != nil {
			into, _ := loose.Leaf(x.name)
			copy(into.Tensor().F32, dense.Float32s())
		}
	}
	exact := mustRun(t, mustCompile(t, want)).Value()
	far, top := 0.0, 0.0
	for i, x := range exact.Floats() {
		far, top = max(far, math.Abs(got.At(i)-x)), max(top, math.Abs(x))
	}
	if !(far <= 0.02*top) || far == 0 {
		t.Errorf("got %v of %v away, want within 0.02 of it, and not 0", far, top)
	}
}

// Rows of a file are read where they are, in any order of outputs; what does not fit is refused.
func TestStorePacked(t *testing.T) {
	like := Outline(Float32)
	s := like.Root()
	w, b := s.Param("w", Const(0), 32, 2), s.Param("b", Const(0), 2)
	x := s.Value("x", Const(1), 1, 32)
	if _, ok := Linear(x, w, b); !ok {
		t.Fatal(like.Err())
	}
	if !w.Readable() || b.Readable() || (Expr{}).Readable() {
		t.Errorf("got %t, %t, want true, false", w.Readable(), b.Readable())
	}
	data := make([]byte, 2*34) // two rows of Q8_0: d = 1, n = 3 and d = 1, n = −1
	for row, n := range []byte{3, 0xff} {
		data[34*row+1] = 0x3c
		for i := range 32 {
			data[34*row+2+i] = n
		}
	}
	rows := Rows{Type: blocks.Q8_0, Data: data, Output: []int{1, 0}}
	g := New(Float32, 1)
	if err := g.StorePacked(w, rows); err != nil {
		t.Fatal(err)
	}
	r := g.Root()
	y, _ := Linear(r.Value("x", Const(1), 1, 32), r.Param("w", Const(0), 32, 2), r.Param("b", Const(0.5), 2))
	if got := mustRun(t, mustCompile(t, y)).Value().Floats(); !slices.Equal(got, []float64{-31.5, 96.5}) {
		t.Errorf("got %v, want [-31.5 96.5]", got)
	}
	bad := slices.Clone(data)
	bad[1] = 0x7c
	for want, err := range map[string]error{
		"want a matrix that Linear": New(Float32, 1).StorePacked(b, rows),
		"need a float32 graph":      New(Float64, 1).StorePacked(w, rows),
		"weights: w: output 0 of 2": New(Float32, 1).StorePacked(w),
		"weights: w: Q8_0: got 34 bytes": New(Float32, 1).StorePacked(
			w, Rows{Type: blocks.Q8_0, Data: data[:34], Output: []int{0, 1}},
		),
		"weights: w: output 1 has a": New(Float32, 1).StorePacked(
			w, Rows{Type: blocks.Q8_0, Data: bad, Output: []int{1, 0}},
		),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
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
		bytes := map[Packing]int{
			BF16: 2*128*96 + 2*128*96 + 2*128*70, Int8: 128*(96+4) + 128*(96+4) + 128*(70+4),
		}[p] + 4*(2*96+70)
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

// bfloat16 rounds x to 8 significant bits.
func bfloat16(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(fraction, 8)), exponent-8)
}

// inPrecision returns the value of Σ y∘Δ and its gradients, where f computes y from leaves of the given shapes. The
// numbers of the leaves are optionally rounded beforehand.
func inPrecision(
	t *testing.T, dtype Dtype, precision string, rounded bool, f func(in []Expr) Expr, shapes ...[]int,
) (out [][]float64) {
	t.Helper()
	numbers := func(_ int, rng *rand.Rand) float64 {
		x := float64(float32(rng.NormFloat64()))
		if rounded {
			x = bfloat16(x)
		}
		return x
	}
	g := New(dtype, 3)
	g.SetPrecision(precision)
	var in []Expr
	for i, shape := range shapes {
		x := g.Root().Param(fmt.Sprint("x", i), Const(0), shape...)
		in = append(in, x)
		rng := rand.New(rand.NewPCG(7, uint64(x.Tensor().Len())))
		for i := range x.Tensor().Len() {
			x.Tensor().Set(i, numbers(i, rng))
		}
	}
	y := f(in)
	p := mustCompile(t, y.Mul(g.Root().Value("delta", numbers, y.Shape()...)).SumAll(), in...)
	mustRun(t, p)
	for _, x := range in {
		out = append(out, p.Grad(x).Floats())
	}
	return append(out, mustRun(t, mustCompile(t, y)).Value().Floats())
}

// TestPrecision: in bf16, Linear and LinearT equal float32 on rounded operands, forward and backward, to the bit. A
// bias and its gradient are not rounded. Float64 ignores the setting.
func TestPrecision(t *testing.T) {
	shapes := [][]int{{70, 33}, {33, 19}, {19}}
	for name, f := range map[string]func(in []Expr) Expr{
		"linear":  func(in []Expr) Expr { y, _ := Linear(in[0], in[1], in[2].Scale(0)); return y },
		"linearT": func(in []Expr) Expr { y, _ := LinearT(in[0], in[1].Transpose(1, 0)); return y.Add(in[2].Scale(0)) },
	} {
		got := inPrecision(t, Float32, "bf16", false, f, shapes...)
		want := inPrecision(t, Float32, "float32", true, f, shapes...)
		exact := inPrecision(t, Float32, "float32", false, f, shapes...)
		for i := range want {
			if i == 2 { // the gradient of the bias
				got, want := got[i], exact[i]
				if !slices.Equal(got, want) {
					t.Errorf("%s: the gradient of the bias differs", name)
				}
				continue
			}
			if !slices.Equal(got[i], want[i]) || slices.Equal(got[i], exact[i]) {
				t.Errorf("%s: result %d is not that of rounded operands", name, i)
			}
		}
		if a, b := inPrecision(
			t, Float64, "bf16", false, f, shapes...,
		), inPrecision(t, Float64, "float32", false, f, shapes...); !slices.EqualFunc(a, b, slices.Equal) {
			t.Errorf("%s: float64 was rounded", name)
		}
	}
}

// TestPrecisionOfAttention: every product is rounded, so results are off by about 2⁻⁹, and by a small multiple of that
// at most.
func TestPrecisionOfAttention(t *testing.T) {
	h := AttentionShape{Batch: 2, Context: 37, Heads: 3, QK: 5, V: 4}
	f := func(in []Expr) Expr {
		y, _ := Attention(in[0], causalMask(in[0].g.Root(), h.Context), h, 0)
		return y
	}
	shape := []int{h.Batch * h.Context, h.Heads * (2*h.QK + h.V)}
	want := inPrecision(t, Float64, "float32", false, f, shape)
	for precision, bounds := range map[string][2]float64{"bf16": {0x1p-11, 0x1p-6}, "float32": {0, 1e-6}} {
		for i, got := range inPrecision(t, Float32, precision, false, f, shape) {
			var off, size float64
			for j, v := range got {
				off, size = math.Hypot(off, v-want[i][j]), math.Hypot(size, want[i][j])
			}
			if d := off / size; !(bounds[0] <= d && d <= bounds[1]) {
				t.Errorf("%s: result %d is off by %g, want between %g and %g", precision, i, d, bounds[0], bounds[1])
			}
		}
	}
}

func TestPrecisionIsKnown(t *testing.T) {
	g := New(Float32, 1)
	g.SetPrecision("bf16")
	if got := g.Precision(); got != "bfloat16 by VDPBF16PS" && got != "bfloat16 by rounding" {
		t.Errorf("got %q", got)
	}
	if got := g.Sibling().Precision(); got != "float32" {
		t.Errorf("a Sibling: got %q, want float32", got)
	}
	g.Kernels = false
	if got := g.Precision(); got != "float32" {
		t.Errorf("the reference form: got %q, want float32", got)
	}
	g.SetPrecision("float16")
	if err := g.Err(); err == nil ||
		!strings.Contains(err.Error(), `precision: got "float16", want one of float32, bf16`) {
		t.Errorf("got %v", err)
	}
}
