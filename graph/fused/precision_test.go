package fused

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
)

// bfloat16 rounds x to 8 significant bits.
func bfloat16(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(fraction, 8)), exponent-8)
}

// inPrecision returns the value of Σ y∘Δ and its gradients, where f computes y from leaves of the given shapes. The
// numbers of the leaves are optionally rounded beforehand.
func inPrecision(
	t *testing.T, dtype graph.Dtype, precision string, rounded bool,
	f func(in []graph.Expr) graph.Expr, shapes ...[]int,
) (out [][]float64) {
	t.Helper()
	numbers := func(_ int, rng *rand.Rand) float64 {
		x := float64(float32(rng.NormFloat64()))
		if rounded {
			x = bfloat16(x)
		}
		return x
	}
	g := graph.New(dtype, 3)
	g.SetPrecision(precision)
	var in []graph.Expr
	for i, shape := range shapes {
		x := g.Root().Param(fmt.Sprint("x", i), graph.Const(0), shape...)
		in = append(in, x)
		rng := rand.New(rand.NewPCG(7, uint64(x.Tensor().Len())))
		for i := range x.Tensor().Len() {
			x.Tensor().Set(i, numbers(i, rng))
		}
	}
	y := f(in)
	p := graphtest.Compile(t, y.Mul(g.Root().Value("delta", numbers, y.Shape()...)).SumAll(), in...)
	graphtest.Run(t, p)
	for _, x := range in {
		out = append(out, p.Grad(x).Floats())
	}
	return append(out, graphtest.Run(t, graphtest.Compile(t, y)).Value().Floats())
}

// TestPrecision: in bf16, Linear and LinearT equal float32 on rounded operands, forward and backward, to the bit. A
// bias and its gradient are not rounded. Float64 ignores the setting.
func TestPrecision(t *testing.T) {
	shapes := [][]int{{70, 33}, {33, 19}, {19}}
	for name, f := range map[string]func(in []graph.Expr) graph.Expr{
		"linear": func(in []graph.Expr) graph.Expr { y, _ := Linear(in[0], in[1], in[2].Scale(0)); return y },
		"linearT": func(in []graph.Expr) graph.Expr {
			y, _ := LinearT(in[0], in[1].Transpose(1, 0))
			return y.Add(in[2].Scale(0))
		},
	} {
		got := inPrecision(t, graph.Float32, "bf16", false, f, shapes...)
		want := inPrecision(t, graph.Float32, "float32", true, f, shapes...)
		exact := inPrecision(t, graph.Float32, "float32", false, f, shapes...)
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
			t, graph.Float64, "bf16", false, f, shapes...,
		), inPrecision(t, graph.Float64, "float32", false, f, shapes...); !slices.EqualFunc(a, b, slices.Equal) {
			t.Errorf("%s: float64 was rounded", name)
		}
	}
}

// TestPrecisionOfAttention: every product is rounded, so results are off by about 2⁻⁹, and by a small multiple of that
// at most.
func TestPrecisionOfAttention(t *testing.T) {
	h := AttentionShape{Batch: 2, Context: 37, Heads: 3, QK: 5, V: 4}
	f := func(in []graph.Expr) graph.Expr {
		y, _ := Attention(in[0], causalMask(in[0].Graph().Root(), h.Context), h, 0)
		return y
	}
	shape := []int{h.Batch * h.Context, h.Heads * (2*h.QK + h.V)}
	want := inPrecision(t, graph.Float64, "float32", false, f, shape)
	for precision, bounds := range map[string][2]float64{"bf16": {0x1p-11, 0x1p-6}, "float32": {0, 1e-6}} {
		for i, got := range inPrecision(t, graph.Float32, precision, false, f, shape) {
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
