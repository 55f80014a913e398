package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// under returns the layer with a separate mask.
func under(rule func(Dims) Visibility, build func(at Site) Layer) func(at Site, x graph.Expr) graph.Expr {
	return func(at Site, x graph.Expr) graph.Expr {
		at.Mask = NewMask(at.Sub("own"), at.Dims, rule(at.Dims))
		return build(at).Forward(x)
	}
}

func linear(at Site) Layer      { return NewLinearAttention(at) }
func nothing(Dims) Visibility   { return All{} }
func future(Dims) Visibility    { return Causal{} }
func padding(d Dims) Visibility { return Padding{lengths(d)} }
func both(d Dims) Visibility    { return All{Causal{}, Padding{lengths(d)}} }

// firstOrder has an ε that matters: with one feature in a query, 1 + q̂·k̂ is next to 0 or 2.
func firstOrder(at Site) Layer {
	at.Eps = 0.03
	return NewTaylorAttention(at.At("attn"))
}

func mixing(at Site) Layer { return NewLinformer(at, (at.Context+1)/2) }

var linearLayerCases = []layerCase{
	{"linear attention", "LinearAttention", under(future, linear)},
	{"linear attention without a mask", "LinearAttention", under(nothing, linear)},
	{"linear attention with padding", "LinearAttention", under(padding, linear)},
	{"causal linear attention with padding", "LinearAttention", under(both, linear)},
	{"linear attention with dropout", "LinearAttention", under(future, func(at Site) Layer { at.Dropout = 0.3; return linear(at) })},
	{"taylor attention", "TaylorAttention", under(future, firstOrder)},
	{"taylor attention without a mask", "TaylorAttention", under(nothing, firstOrder)},
	{"causal taylor attention with padding", "TaylorAttention", under(both, firstOrder)},
	{"linformer", "Linformer", under(nothing, mixing)},
	{"linformer with dropout", "Linformer", under(nothing, func(at Site) Layer { at.Dropout = 0.3; return mixing(at) })},
}

// Step, for one token or several at a time, equals Forward, and its state does not grow.
func TestI45StepEqualsForward(t *testing.T) {
	stepsEqualForward(t, func(at Site) Cached { return NewLinearAttention(at) })
}

func TestI46StepEqualsForward(t *testing.T) {
	stepsEqualForward(t, func(at Site) Cached { return NewTaylorAttention(at) })
}

func stepsEqualForward(t *testing.T, build func(at Site) Cached) {
	for _, d := range shapes {
		if d.Context == 1 { // the weight of a single key may be close to 0
			continue
		}
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) { stepEqualsForward(t, Causal{}, d, build) })
	}
}

// A token out of order is an error that contains it and the next one; position 0 begins again.
func TestI45StepOutOfOrder(t *testing.T) {
	d := shapes[0]
	at := newSite(graph.New(graph.Float64, 1), d)
	at.Caches = Caches{}
	x, pos := at.Value("x", graph.Normal(1), d.Batch, d.Embd), at.Ints("pos", 1, d.Context, -1)
	p, err := graph.Compile(NewLinearAttention(at).Step(x, pos))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   int
		want string
	}{
		{2, "run: h.0: cached linear attention: token 2, the next one is token 0: tokens out of order"}, {0, ""}, {1, ""}, {1, "run: h.0: cached linear attention: token 1, the next one is token 2: tokens out of order"},
		{3, "run: h.0: cached linear attention: token 3, the next one is token 2: tokens out of order"}, {2, ""}, {0, ""}, {1, ""},
	} {
		pos.Ints()[0] = c.at
		got := ""
		if err := p.Run(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("token %d: got %q, want %q", c.at, got, c.want)
		}
	}
}

// A mask that does not split into sums over keys, or cannot be mixed, is an error at the layer.
func TestLinearAttentionErrors(t *testing.T) {
	d := Dims{Batch: 2, Context: 6, Embd: 8, Heads: 2, QK: 3, V: 5, Blocks: 2}
	rotated := func(at *Site) { at.Rotary = noRotation{} }
	hiding := func(rule Visibility) func(*Site) {
		return func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, rule) }
	}
	for _, c := range []struct {
		change func(*Site)
		build  func(at Site)
		want   string
	}{
		{hiding(Window{3}), func(at Site) { NewLinearAttention(at) },
			"h.0: linear attention with the mask nn.Window{Width:3}: only nn.Causal, nn.Padding and nn.All of them split into sums over keys"},
		{hiding(All{Causal{}, Window{3}}), func(at Site) { NewTaylorAttention(at) },
			"h.0: linear attention with the mask nn.All[{} {Width:3}]: only nn.Causal, nn.Padding and nn.All of them split into sums over keys"},
		{func(at *Site) { at.Mask = nil }, func(at Site) { NewLinearAttention(at) },
			"h.0: linear attention with the mask nil: only nn.Causal, nn.Padding and nn.All of them split into sums over keys"},
		{rotated, func(at Site) { NewLinearAttention(at) },
			"h.0: linear attention with rotary positions: elu + 1 of rotated queries and keys depends on more than their distance"},
		{hiding(All{}), func(at Site) {
			NewLinearAttention(at).Step(at.Value("x", graph.Const(0), 2, 8), at.Ints("pos", 1, 6, -1))
		},
			"h.0: one token at a time: the mask nn.All[] is not nn.Causal"},
		{func(*Site) {}, func(at Site) {
			NewLinearAttention(at).Step(at.Value("x", graph.Const(0), 2, 8), at.Ints("pos", 1, 6, -1))
		},
			"h.0: cached linear attention (2, 22), h.0.pos (1): no cache to keep sums in"},
		{func(*Site) {}, func(at Site) { NewLinformer(at, 3) },
			"h.0: linformer: keys are mixed over the entire context of 6 tokens, so a causal mask cannot be kept"},
		{hiding(Window{3}), func(at Site) { NewLinformer(at, 3) },
			"h.0: linformer: keys are mixed over the entire context of 6 tokens, so the mask nn.Window{Width:3} cannot be kept"},
		{hiding(All{}), func(at Site) { NewLinformer(at, 7) }, "h.0: linformer: 7 mixed keys for a context of 6 tokens, want 1 … 6"},
		{hiding(All{}), func(at Site) { NewLinformer(at, 0) }, "h.0: linformer: 0 mixed keys for a context of 6 tokens, want 1 … 6"},
		{func(at *Site) { hiding(All{})(at); rotated(at) }, func(at Site) { NewLinformer(at, 2) },
			"h.0: linformer: keys are mixed over the entire context of 6 tokens, so rotary positions lose their distances"},
	} {
		g := graph.New(graph.Float64, 1)
		at := newSite(g, d)
		c.change(&at)
		c.build(at)
		if err := g.Err(); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

type noRotation struct{}

func (noRotation) Rotate(x graph.Expr, _, _ int) graph.Expr { return x }

// With k' = T and E = F = 1 the mixtures are the tokens, and Linformer is attention without a mask, including the
// gradients.
func TestI47IdentityIsAttention(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		run := func(build func(at Site) Layer) (graph.Tensor, graph.Tensor) {
			g := graph.New(graph.Float64, 3)
			g.Kernels = kernels
			at := newSite(g, shapes[0])
			at.Mask = NewMask(at.Sub("own"), at.Dims, All{})
			x := g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
			y := build(at).Forward(x)
			p, err := graph.Compile(y.Mul(g.Root().Value("delta", graph.Normal(1), at.Batch*at.Context, at.Embd)).SumAll(), x)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			return p.Value().Clone(), p.Grad(x).Clone()
		}
		want, dwant := run(func(at Site) Layer { return NewSelfAttention(at) })
		got, dgot := run(func(at Site) Layer {
			l := NewLinformer(at, at.Context)
			for _, e := range []graph.Expr{l.E, l.F} {
				for i := range e.Tensor().Len() {
					e.Tensor().Set(i, map[bool]float64{true: 1}[i%(at.Context+1) == 0])
				}
			}
			return l
		})
		if a, b := distance(got, want, 0), distance(dgot, dwant, 0); !(a <= 1e-12 && b <= 1e-12) {
			t.Errorf("kernels %t: distance %.1e, of the gradients %.1e, want ≤ 1e-12", kernels, a, b)
		}
	}
}

// Linformer is not causal: changing the last token changes the first row.
func TestI47NotCausal(t *testing.T) {
	d := shapes[0]
	g := graph.New(graph.Float64, 3)
	at := newSite(g, d)
	at.Mask = NewMask(at.Sub("own"), d, All{})
	x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	p, err := graph.Compile(NewLinformer(at, 2).Forward(x))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	before := p.Value().F64[0]
	x.Tensor().F64[(d.Context-1)*d.Embd] += 10
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if now := p.Value().F64[0]; !(math.Abs(now-before) > 1e-9) {
		t.Errorf("the first row went from %v to %v: it does not attend to the last token", before, now)
	}
}

// Rotary positions rotate queries and keys and keep their lengths: between equal tokens a weight depends only on the
// distance, and stays above 0.
func TestI46RotaryWeightsDependOnDistance(t *testing.T) {
	d := Dims{Batch: 1, Context: 7, Embd: 6, Heads: 1, QK: 4, V: 3, Blocks: 1}
	g := graph.New(graph.Float64, 3)
	at := newSite(g, d)
	at.Positions = at.Ints("positions", d.Context, d.Context, -1)
	for i := range at.Positions.Ints() {
		at.Positions.Ints()[i] = i
	}
	at.Rotary = NewRoPE(at.At("rope"), d.QK, 10000)
	x := g.Root().Value("x", func(i int, _ *rand.Rand) float64 { return float64(i%d.Embd) - 2 }, d.Context, d.Embd)
	qkv := NewTaylorAttention(at).QKV.Forward(x)
	p, err := graph.Compile(taylor{at.Eps}.of(qkv.Cols(0, d.QK), qkv.Cols(d.QK, 2*d.QK)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	weight := func(i, j int) float64 { return p.Value().F64[i*d.Context+j] }
	for i := range d.Context {
		for j := range d.Context {
			got, want := weight(i, j), weight(max(0, i-j), max(0, j-i))
			if !(got > 0) || !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("query %d, key %d: weight %v, want that of their distance, %v, and above 0", i, j, got, want)
			}
		}
	}
	if !(math.Abs(weight(0, 0)-weight(3, 0)) > 1e-3) {
		t.Errorf("tokens 3 apart have the weight %v, those 0 apart %v: nothing was rotated", weight(3, 0), weight(0, 0))
	}
}

// BenchmarkLinearAttention measures forward and backward of the layer on 4096 tokens, in sequences of several lengths.
// Linear means that the cost per token is the same for all of them. Causal self-attention, for comparison, grows.
func BenchmarkLinearAttention(b *testing.B) {
	for name, build := range map[string]Attention{"linear": linear, "taylor": firstOrder, "softmax": causal} {
		for _, n := range []int{512, 1024, 2048, 4096} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				d := Dims{Batch: 4096 / n, Context: n, Embd: 128, Heads: 4, QK: 32, V: 32, Blocks: 4}
				g := graph.New(graph.Float32, 1)
				x := g.Root().Value("x", graph.Normal(1), 4096, d.Embd)
				y := NewLinear(g.Root().Sub("sum"), d.Embd, []int{1}, false, graph.Normal(1)).Forward(build(newSite(g, d)).Forward(x))
				p, err := graph.Compile(y.SumAll(), append(g.Params(), x)...)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := p.Run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/4096, "ns/token")
			})
		}
	}
}
