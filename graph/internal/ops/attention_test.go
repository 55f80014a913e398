package ops_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/pedestrian-ml/pedestrian/graph"
	. "github.com/pedestrian-ml/pedestrian/graph/fused"
)

// TestAttentionMemoryIsLinearInTheContext compiles training programs for one number of tokens in sequences of two
// lengths.
func TestAttentionMemoryIsLinearInTheContext(t *testing.T) {
	bytes := func(context int) int {
		h := AttentionShape{Batch: 4096 / context, Context: context, Heads: 2, QK: 8, V: 16}
		g := New(Float32, 1)
		zero := func(int, *rand.Rand) float64 { return 0 }
		qkv := g.Root().Value("qkv", zero, h.Batch*h.Context, h.Width())
		mask := g.Root().Value("mask", zero, h.Context, h.Context)
		y, ok := Attention(qkv, mask, h, 0.1)
		if !ok {
			t.Fatal("no kernel")
		}
		if _, err := Compile(y.SumAll(), qkv); err != nil {
			t.Fatal(err)
		}
		return g.Bytes()
	}
	short, long := bytes(256), bytes(2048)
	if !(float64(long) <= 1.1*float64(short)) {
		t.Errorf("%d bytes for a context of 256, %d for 2048", short, long)
	}
	t.Logf("%d bytes for a context of 256, %d for 2048", short, long)
}

func cross(batch, queries, keys, heads, qk, v int) CrossShape {
	return CrossShape{Batch: batch, Queries: queries, Keys: keys, Heads: heads, QK: qk, V: v}
}

// referenceCross is cross attention in stock operations.
func referenceCross(q, kv, mask Expr, h CrossShape, dropout float64) Expr {
	split := func(x Expr, tokens, size int) Expr {
		return x.Reshape(h.Batch, tokens, h.Heads, size).Transpose(0, 2, 1, 3)
	}
	queries := split(q, h.Queries, h.QK)
	keys := split(kv.Columns(0, h.Heads*h.QK), h.Keys, h.QK)
	values := split(kv.Columns(h.Heads*h.QK, h.Heads*(h.QK+h.V)), h.Keys, h.V)
	if len(mask.Shape()) == 3 {
		mask = mask.Reshape(h.Batch, 1, h.Queries, h.Keys)
	}
	scores := queries.MatMulT(keys).Scale(1 / math.Sqrt(float64(h.QK)))
	if h.Cap != 0 {
		scores = scores.Scale(1 / h.Cap).Tanh().Scale(h.Cap)
	}
	rho := scores.Add(mask).Softmax()
	rho = rho.In(q.Graph().Root().Sub("attn_dropout")).Dropout(dropout)
	return rho.MatMul(values).Transpose(0, 2, 1, 3).Reshape(h.Batch*h.Queries, h.Heads*h.V)
}

// crossCase returns the value and both gradients of one form.
func crossCase(t *testing.T, h CrossShape, dtype Dtype, kernels bool, dropout float64, mask []int) (out []Tensor) {
	g := New(dtype, 5)
	g.Kernels = kernels
	s := g.Root()
	q := s.Value("q", Normal(1), h.Batch*h.Queries, h.Heads*h.QK)
	kv := s.Value("kv", Normal(1), h.Batch*h.Keys, h.Heads*(h.QK+h.V))
	m := s.Value("mask", func(i int, rng *rand.Rand) float64 {
		if i%h.Keys > 0 && i%5 == 1 {
			return math.Inf(-1)
		}
		return rng.NormFloat64()
	}, mask...)
	y, ok := CrossAttention(q, kv, m, h, dropout)
	if ok != kernels {
		t.Fatalf("kernel: %t", ok)
	}
	if !ok {
		y = referenceCross(q, kv, m, h, dropout)
	}
	loss := y.Mul(s.Value("delta", Normal(1), y.Shape()...)).SumAll()
	p, err := Compile(loss, q, kv)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	for range 2 {
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
	}
	return []Tensor{p.Value().Clone(), p.Grad(q).Clone(), p.Grad(kv).Clone()}
}

func TestCrossAttentionEqualsSpelled(t *testing.T) {
	for _, h := range []CrossShape{
		cross(2, 5, 7, 3, 4, 2), cross(3, 7, 5, 1, 3, 5), cross(3, 1, 6, 3, 2, 3), cross(1, 6, 1, 2, 1, 3),
		cross(2, 67, 35, 2, 9, 5), {Batch: 2, Queries: 67, Keys: 35, Heads: 2, QK: 9, V: 5, Cap: 0.8},
	} {
		for _, mask := range [][]int{{}, {h.Batch}, {1, h.Heads}, {h.Batch, h.Heads}} {
			mask = append(mask, h.Queries, h.Keys)
			for _, dropout := range []float64{0, 0.2} {
				for dtype, tolerance := range map[Dtype]float64{Float64: 1e-12, Float32: 3e-5} {
					t.Run(fmt.Sprintf("%v/%v/%g/%v", h, mask, dropout, dtype), func(t *testing.T) {
						got := crossCase(t, h, dtype, true, dropout, mask)
						want := crossCase(t, h, dtype, false, dropout, mask)
						for i, name := range []string{"value", "dq", "dkv"} {
							top, worst := 0.1, 0. // one key: dq is 0
							for j := range want[i].Len() {
								top = max(top, math.Abs(want[i].At(j)))
								worst = max(worst, math.Abs(got[i].At(j)-want[i].At(j)))
							}
							if !(worst <= tolerance*top) {
								t.Errorf("%s is off by %.2g, the largest is %.2g", name, worst, top)
							}
						}
					})
				}
			}
		}
	}
}

// TestCrossAttentionOfOneSource differentiates by the keys and values alone, or by the queries alone.
func TestCrossAttentionOfOneSource(t *testing.T) {
	h := cross(2, 3, 4, 1, 2, 5)
	for _, by := range []string{"q", "kv"} {
		g := New(Float64, 5)
		q, kv := g.Root().Value("q", Normal(1), 6, 2), g.Root().Value("kv", Normal(1), 8, 7)
		y, _ := CrossAttention(q, kv, g.Root().Value("mask", Const(0), 3, 4), h, 0)
		wrt := map[string]Expr{"q": q, "kv": kv}[by]
		p, err := Compile(y.Mul(y).SumAll(), wrt)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		loss, grad := p.Loss(), p.Grad(wrt).At(1)
		const step = 1e-6
		wrt.Tensor().Set(1, wrt.Tensor().At(1)+step)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if slope := (p.Loss() - loss) / step; !(math.Abs(slope-grad) <= 1e-4*max(1, math.Abs(grad))) {
			t.Errorf("by %s: gradient %v, slope %v", by, grad, slope)
		}
	}
}

func TestCrossAttentionErrors(t *testing.T) {
	h := cross(2, 3, 4, 3, 2, 5)
	for _, c := range []struct {
		q, kv, mask []int
		want        string
	}{
		{
			[]int{5, 6}, []int{8, 21}, []int{3, 4},
			"(5, 6) is not (6, 6), the queries of {Batch:2 Queries:3 Keys:4 Heads:3 QK:2 V:5 Cap:0}",
		},
		{
			[]int{6, 6}, []int{8, 20}, []int{3, 4},
			"(8, 20) is not (8, 21), the keys and values of {Batch:2 Queries:3 Keys:4 Heads:3 QK:2 V:5 Cap:0}",
		},
		{[]int{6, 6}, []int{8, 21}, []int{4, 3}, "got a mask (4, 3), want (3, 4), (2, 3, 4) or (1 or 2, 1 or 3, 3, 4)"},
		{
			[]int{6, 6}, []int{8, 21}, []int{3, 2, 3, 4},
			"got a mask (3, 2, 3, 4), want (3, 4), (2, 3, 4) or (1 or 2, 1 or 3, 3, 4)",
		},
	} {
		g := New(Float64, 1)
		s := g.Root().Sub("h.0")
		q, kv := s.Value("q", Const(0), c.q...), s.Value("kv", Const(0), c.kv...)
		mask := s.Value("mask", Const(0), c.mask...)
		CrossAttention(q, kv, mask, h, 0)
		if want := fmt.Sprintf(
			"h.0: cross attention h.0.q %s, h.0.kv %s, h.0.mask %s: %s", shapeText(c.q), shapeText(c.kv),
			shapeText(c.mask), c.want,
		); g.Err() == nil || g.Err().Error() != want {
			t.Errorf("got %v, want %s", g.Err(), want)
		}
	}
}

func shapeText(shape []int) string {
	text := fmt.Sprint(shape[0])
	for _, n := range shape[1:] {
		text += fmt.Sprintf(", %d", n)
	}
	return "(" + text + ")"
}

// linearShape returns sizes that are all different.
func linearShape() LinearShape {
	return LinearShape{
		AttentionShape: AttentionShape{Batch: 2, Context: 3, Heads: 4, QK: 5, V: 6}, Causal: true, Map: EluPlusOne(),
	}
}

// TestLinearAttentionIsDirect: a program of it consists of our own operations, and its memory does not depend on the
// length of the sequences.
func TestLinearAttentionIsDirect(t *testing.T) {
	bytes := func(context int) int {
		h := LinearShape{
			AttentionShape: AttentionShape{Batch: 4096 / context, Context: context, Heads: 2, QK: 8, V: 16},
			Causal:         true, Map: Taylor(1e-5),
		}
		g := New(Float32, 1)
		qkv := g.Root().Value("qkv", Normal(1), h.Batch*h.Context, h.Width())
		y, ok := LinearAttention(qkv, Expr{}, h)
		if !ok {
			t.Fatal("no kernel")
		}
		p, err := Compile(y.MatMul(g.Root().Value("w", Normal(1), 32, 1)).SumAll(), qkv)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		return g.Bytes()
	}
	if short, long := bytes(256), bytes(2048); short != long {
		t.Errorf("%d bytes for a context of 256, %d for 2048", short, long)
	}
	h, g := linearShape(), New(Float32, 1)
	y, _ := LinearAttention(g.Root().Value("qkv", Normal(1), 6, h.Width()), Expr{}, h)
	p, err := Compile(y)
	if err != nil {
		t.Fatal(err)
	}
	if stock := p.Stock(); len(stock) > 0 {
		t.Errorf("%v are Gorgonia's own", stock)
	}
}

// TestLinearAttentionBadShapes: operands that do not fit are an error with both shapes.
func TestLinearAttentionBadShapes(t *testing.T) {
	h := linearShape()
	for _, c := range []struct {
		build func(s Scope)
		want  string
	}{
		{
			func(s Scope) { LinearAttention(s.Value("x", Const(0), 5, 64), Expr{}, h) },
			"(5, 64) is not (6, 64), the packed projections of {Batch:2 Context:3 Heads:4 QK:5 V:6 Groups:0 Cap:0}",
		},
		{
			func(s Scope) { LinearAttention(s.Value("x", Const(0), 6, 63), Expr{}, h) },
			"(6, 63) is not (6, 64), the packed projections of {Batch:2 Context:3 Heads:4 QK:5 V:6 Groups:0 Cap:0}",
		},
		{func(s Scope) {
			LinearAttention(
				s.Value("x", Const(0), 6, 64), s.Value("m", Const(0), 3, 4), h,
			)
		}, "got a mask of 12 entries, want 9 or 18"},
		{func(s Scope) {
			CachedLinearAttention(s.Value("x", Const(0), 6, 64), s.Ints("at", 1, 3, NoneIgnored), nil)
		}, "no cache to keep sums in"},
		{func(s Scope) {
			CachedLinearAttention(s.Value("x", Const(0), 5, 64), s.Ints("at", 1, 3, NoneIgnored), NewLinearCache(h))
		}, "(5, 64) is not (n·2, 64), the packed projections of {Batch:2 Context:3 Heads:4 QK:5 V:6 Groups:0 Cap:0}"},
		{func(s Scope) {
			CachedLinearAttention(s.Value("x", Const(0), 4, 64), s.Ints("at", 3, 3, NoneIgnored), NewLinearCache(h))
		}, "got 3 positions, want 1, or one for each of 2 sequences"},
		{func(s Scope) {
			MixTokens(
				s.Value("w", Const(0), 2, 4), s.Value("x", Const(0), 6, 3),
			)
		}, "(2, 4) mixes 4 tokens, (6, 3) is not a batch of such sequences"},
	} {
		g := New(Float64, 1)
		c.build(g.Root())
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// TestLinearStepForgets: position 0 starts again, and any other position must follow the last one; otherwise the error
// is ErrOrder.
func TestLinearStepForgets(t *testing.T) {
	h, g := linearShape(), New(Float64, 1)
	x, at := g.Root().Value("x", Normal(1), h.Batch, h.Width()), g.Root().Ints("at", 1, 9, NoneIgnored)
	p, err := Compile(CachedLinearAttention(x, at, NewLinearCache(h)))
	if err != nil {
		t.Fatal(err)
	}
	var first, second float64
	for i, position := range []int{0, 1, 0, 1} {
		for j := range x.Tensor().Len() {
			x.Tensor().Set(j, float64(j%7-position))
		}
		at.Ints()[0] = position
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		switch got := p.Value().At(0); {
		case i == 0:
			first = got
		case i == 1:
			second = got
		case got != []float64{first, second}[position]:
			t.Errorf("token %d once more: got %v, want %v", position, got, []float64{first, second}[position])
		}
	}
	if first == second {
		t.Errorf("both tokens give %v", first)
	}
	at.Ints()[0] = 3
	if err := p.Run(); !errors.Is(err, ErrOrder) {
		t.Errorf("got %v, want %v", err, ErrOrder)
	}
}
