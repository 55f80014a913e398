package verify

import (
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// TestProductsInBF16 checks that every entry of y = x·w, Δ·wᵀ and xᵀ·Δ is as near to float64's as the rounding of its
// operands, (2u + u²)|A||B|, and of sums in float32 allows; and that it is not nearer than without rounding.
func TestProductsInBF16(t *testing.T) {
	const n, in, out = 45, 300, 37
	x, w, delta := fixture.Random("x", n, in), fixture.Random("w", in, out), fixture.Random("delta", n, out)
	g := rounded32.graph(1, 0)
	leaf := func(name string, m hand.Matrix[float64]) graph.Expr {
		e := g.Root().Value(name, graph.Const(0), m.Rows, m.Cols)
		fill(e, m)
		return e
	}
	a, b := leaf("x", x), leaf("w", w)
	y, _ := fused.Linear(a, b, graph.Expr{})
	p, err := graph.CompileWith(y.Mul(leaf("delta", delta)).SumAll(), []graph.Expr{y}, a, b)
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(g.Precision())
	for name, c := range map[string]struct{ got, left, right hand.Matrix[float64] }{
		"y": {FromTensor(p.Kept(y)), x, w}, "dx": {FromTensor(p.Grad(a)), delta, w.Transpose()},
		"dw": {FromTensor(p.Grad(b)), x.Transpose(), delta},
	} {
		const u, v = 0x1p-9, 0x1p-24
		want, size := c.left.MatMul(c.right), abs(c.left).MatMul(abs(c.right))
		worst := 0.
		for i, exact := range want.Data {
			d, terms := math.Abs(c.got.Data[i]-exact), float64(c.left.Cols+2)
			if !(d <= (2*u+u*u)*size.Data[i]+terms*v*(1+u)*(1+u)*size.Data[i]) {
				t.Fatalf(
					"%s: entry %d is %v, want %v within the rounding of |A||B| = %v", name, i, c.got.Data[i], exact,
					size.Data[i],
				)
			}
			worst = max(worst, d/size.Data[i])
		}
		if !(worst >= u/16) {
			t.Errorf("%s: no entry is off by more than %g of |A||B|: nothing was rounded to bfloat16", name, worst)
		}
	}
}

func abs(m hand.Matrix[float64]) hand.Matrix[float64] {
	m.Data = slices.Clone(m.Data)
	for i, v := range m.Data {
		m.Data[i] = math.Abs(v)
	}
	return m
}

// TestProductsInBF16ByRounding checks the same, and a complete model, on a processor without VDPBF16PS.
func TestProductsInBF16ByRounding(t *testing.T) {
	if testing.Short() || os.Getenv("GODEBUG") != "" {
		t.Skip("starts this program again with fewer instructions: not with -short, and not in such a run itself")
	}
	test := exec.Command(os.Args[0], "-test.run=^(TestProductsInBF16|TestModelsInBF16)$", "-test.v")
	test.Env = append(os.Environ(), "GODEBUG=cpu.avx512f=off")
	out, err := test.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "bfloat16 by rounding") ||
		strings.Contains(string(out), "VDPBF16PS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestModelsInBF16 checks that a model with rounded products is also compared within their tolerance, and that an
// unknown precision is an error.
func TestModelsInBF16(t *testing.T) {
	m := newModel(t, small(func(c *gpt.Config) { c.NLayer, c.Precision = 1, "bf16" }))
	r, err := Check(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.Precision, r.WorstBF16)
	if !r.OK() || r.Roads[len(r.Roads)-1] != "bf16" || !strings.HasPrefix(r.Precision, "bfloat16 by ") {
		t.Errorf("%v, %q, %v", r.Roads, r.Precision, r.Failures)
	}
	if !(r.WorstBF16 >= 1e-3 && float64(r.WorstBF16) <= r.ToleranceBF16 && r.ToleranceBF16 <= 0.1) {
		t.Errorf("worst distance %v of %v", r.WorstBF16, r.ToleranceBF16)
	}
	r.Rows[0].put(rounded32.name, 1.01*r.ToleranceBF16)
	if got := r.failures(r.Rows[0]); len(got) != 1 || !strings.Contains(got[0], ": bf16: distance ") {
		t.Errorf("a distance beyond the tolerance: got %q", got)
	}
	pairs, err := NewPairs(
		seq2seq.Config{SourceSize: 5, TargetSize: 6, SourceVocab: 9, TargetVocab: 11, Stack: small().Stack}, 2, 1,
	)
	if err != nil {
		t.Fatal(err)
	}
	m.Config.Precision, pairs.Config.Precision = "half", "half"
	for _, unknown := range []Subject{m, pairs} {
		if _, err := Check(unknown); err == nil || !strings.Contains(
			err.Error(), `precision: got "half", want one of float32, bf16`,
		) {
			t.Errorf("an unknown precision: got %v", err)
		}
	}
}
