package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// narrow returns a width for latents that does not occur otherwise in the shapes of the tests.
func narrow(d Dims) int { return 1 + d.Embd/7*3 }

func newMLA(at Site) Cached       { return NewMLA(at, narrow(at.Dims)) }
func newMLARotary(at Site) Cached { return NewMLARoPE(at, narrow(at.Dims), 2+at.Embd/3, 4, 100) }
func newMLALatent(at Site) Cached { return NewMLALatentRoPE(at, narrow(at.Dims), 2+at.Embd/3, 4, 100) }

func latentCase(name, kind string, build func(at Site) Cached, change func(at *Site)) layerCase {
	return layerCase{name, kind, func(at Site, x graph.Expr) graph.Expr {
		change(&at)
		return build(positioned(at, at.Context, 0)).Forward(x)
	}}
}

func asItIs(*Site)         {}
func dropping(at *Site)    { at.Dropout = 0.3 }
func adapting(at *Site)    { at.Affine = NewLoRA(func(string) bool { return true }, 2, 0.7) }
func withoutBias(at *Site) { at.Bias = false }
func padded(at *Site) {
	at.Mask = NewMask(at.Sub("other"), at.Dims, All{Causal{}, Padding{lengths(at.Dims)}})
}

var mlaLayerCases = []layerCase{
	latentCase("latent attention", "MLA", newMLA, asItIs),
	latentCase("latent attention with dropout", "MLA", newMLA, dropping),
	latentCase("latent attention with padding", "MLA", newMLA, padded),
	latentCase("latent attention with adapters", "MLA LoRA", newMLA, adapting),
	latentCase("latent attention with rope", "MLARoPE", newMLARotary, asItIs),
	latentCase("latent attention with rope without bias, with dropout", "MLARoPE", newMLARotary, func(at *Site) { withoutBias(at); dropping(at) }),
	latentCase("latent attention with rope of the latent", "MLALatentRoPE", newMLALatent, asItIs),
}

// decodingLatents compares decoding, which absorbs the up-projections and stores latents, with the forward pass, which
// does neither, in all shapes, and checks the size of the cache.
func decodingLatents(t *testing.T, build func(at Site) Cached, change func(at *Site), kept func(d Dims) int) {
	for _, d := range shapes {
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			caches := decodingEqualsForward(t, d, func(at Site) Cached { change(&at); return build(at) })
			if len(caches) != 1 {
				t.Fatalf("%d caches, want 1", len(caches))
			}
			for name, c := range caches {
				want := d.Batch * d.Context * kept(d)
				if got := c.Bytes() / 8; got != want {
					t.Errorf("%s keeps %d numbers, want %d, %d of each token", name, got, want, kept(d))
				}
			}
		})
	}
}

// TestI41AbsorbedDecodingEqualsForward: the results are equal, and the cache stores dc numbers a token.
func TestI41AbsorbedDecodingEqualsForward(t *testing.T) {
	decodingLatents(t, newMLA, asItIs, narrow)
}

// TestI41AbsorbsAdapters: the matrices that are absorbed include the adapters.
func TestI41AbsorbsAdapters(t *testing.T) { decodingLatents(t, newMLA, adapting, narrow) }

// TestI41WindowDecodes: the mask of the queries' own positions is used.
func TestI41WindowDecodes(t *testing.T) {
	decodingLatents(t, newMLA, func(at *Site) { at.Mask = NewMask(at.Sub("other"), at.Dims, Window{3}) }, narrow)
}

// TestI42AbsorbedDecodingEqualsForward: for both readings the results are equal, and the cache stores dc + dR numbers a
// token.
func TestI42AbsorbedDecodingEqualsForward(t *testing.T) {
	kept := func(d Dims) int { return narrow(d) + 4 }
	t.Run("of the token", func(t *testing.T) { decodingLatents(t, newMLARotary, asItIs, kept) })
	t.Run("of the latent", func(t *testing.T) { decodingLatents(t, newMLALatent, asItIs, kept) })
}

// deepSeek holds the sizes that Xu takes from DeepSeek: 128 heads of 128 features on a stream of 7168, and 576 numbers
// of latent (37), which are 512 and 64 rotated ones there.
var deepSeek = Dims{Batch: 1, Context: 1, Embd: 7168, Heads: 128, QK: 128, V: 128}

// TestI41CacheOfATokenIs576Not32768 in one layer of that size: 57 times less.
func TestI41CacheOfATokenIs576Not32768(t *testing.T) {
	d := deepSeek
	latent := graph.LatentShape{Batch: d.Batch, Context: d.Context, Heads: d.Heads, QK: d.QK, V: d.V, Latent: 512, Rotary: 64}
	full := graph.AttentionShape{Batch: d.Batch, Context: d.Context, Heads: d.Heads, QK: d.QK, V: d.V}
	keysAndValues := full.Width() - d.Heads*d.QK // the packed columns without the queries
	if latent.Width() != 576 || keysAndValues != 32_768 {
		t.Errorf("a token leaves %d and %d numbers, want 576 and 32768", latent.Width(), keysAndValues)
	}
}

// TestI41AbsorbedMatrixIsLarger: w_q,h·w↑_k,hᵀ of one head has 4.17 times as many entries as its two factors, 4,128,768
// for 991,232, so it is not stored (errata X6).
func TestI41AbsorbedMatrixIsLarger(t *testing.T) {
	const latent = 576
	d := Dims{Batch: 1, Context: 1, Embd: 7168, Heads: 1, QK: 128, V: 1}
	g := graph.New(graph.Float32, 1)
	NewMLA(newSite(g, d), latent)
	factors := 0
	for _, p := range g.Params() {
		if strings.HasSuffix(p.Name(), "c_q.weight") || strings.HasSuffix(p.Name(), "c_k_up.weight") {
			factors += p.Tensor().Len()
		}
	}
	absorbed := d.Embd * latent
	if ratio := float64(absorbed) / float64(factors); absorbed != 4_128_768 || factors != 991_232 || !(math.Abs(ratio-4.17) < 0.005) {
		t.Errorf("%d entries for %d, ratio %.3f, want 4128768 for 991232, ratio 4.17", absorbed, factors, ratio)
	}
}

// TestI41BiasesWouldAddNothing: a bias of the keys cancels, and one of the values acts as one of the output. Here the
// latent gets one, as a column of ones in x that no other matrix reads.
func TestI41BiasesWouldAddNothing(t *testing.T) {
	d := shapes[0]
	g := graph.New(graph.Float64, 3)
	x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	l := NewMLA(newSite(g, d), 3)
	y := l.Forward(x)
	in, down, query := x.Tensor(), l.Down.(*Linear).Weight.Tensor(), l.Query.(*Linear).Weight.Tensor()
	for i := range d.Batch * d.Context {
		in.Set(i*d.Embd, 1)
	}
	for j := range query.Shape[1] {
		query.Set(j, 0)
	}
	for j := range 3 {
		down.Set(j, 0)
	}
	before := output(t, y)
	for j := range 3 {
		down.Set(j, float64(1+j))
	}
	after := output(t, y)
	moved := 0.0
	for i := range before.Len() {
		first := after.At(i%d.Embd) - before.At(i%d.Embd)
		moved = max(moved, math.Abs(first))
		if got := after.At(i) - before.At(i); !(math.Abs(got-first) <= 1e-12) {
			t.Errorf("entry %d moves by %v, in the first row by %v", i, got, first)
		}
	}
	if moved < 1e-3 {
		t.Errorf("the bias moves the output by %v only", moved)
	}
}

// TestI42KeyOfTheLatentHasItsRank: k^R from a latent of one feature is a multiple of a single row before it is rotated,
// for all tokens; k^R from the token's features is not.
func TestI42KeyOfTheLatentHasItsRank(t *testing.T) {
	d := shapes[0]
	rank := func(build func(at Site) (rotating, down Layer)) int {
		g := graph.New(graph.Float64, 3)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		rotating, down := build(positioned(newSite(g, d), d.Context, 0))
		if down != nil {
			x = down.Forward(x)
		}
		k := output(t, rotating.Forward(x))
		for i := range k.Shape[0] {
			for j := range k.Shape[1] {
				minor := k.At(i*4+j)*k.At(0) - k.At(i*4)*k.At(j)
				if math.Abs(minor) > 1e-9*math.Abs(k.At(i*4+j)*k.At(0)) {
					return 2 // or more
				}
			}
		}
		return 1
	}
	if got := rank(func(at Site) (Layer, Layer) { l := NewMLALatentRoPE(at, 1, 3, 4, 100); return l.RoPEK, l.Down }); got != 1 {
		t.Errorf("of the latent: rank %d or more, want 1", got)
	}
	if got := rank(func(at Site) (Layer, Layer) { return NewMLARoPE(at, 1, 3, 4, 100).RoPEK, nil }); got != 2 {
		t.Errorf("of the token: rank %d, want more", got)
	}
}

// TestMLAErrors: invalid sizes are errors where the layer is built, with both numbers.
func TestMLAErrors(t *testing.T) {
	pos := func(at Site) graph.Expr { return at.Ints("pos", 1, at.Context, -1) }
	for want, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"h.0: latent 0: at least 1 feature is needed, fewer than 8 make sense": func(at Site, x graph.Expr) graph.Expr { return NewMLA(at, 0).Forward(x) },
		"h.0: latent -3: at least 1":                                                  func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, -3, 3, 4, 100).Forward(x) },
		"h.0: query latent 0: at least 1 feature is needed, fewer than 8":             func(at Site, x graph.Expr) graph.Expr { return NewMLALatentRoPE(at, 3, 0, 4, 100).Forward(x) },
		"h.0.rope: size 5: rotary positions rotate pairs, so 4 or 6 features are":     func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, 3, 3, 5, 100).Forward(x) },
		"h.0.rope: size -2: rotary positions rotate pairs, so at least 2":             func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, 3, 3, -2, 100).Forward(x) },
		"h.0.rope: theta -1: a base greater than 0":                                   func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, 3, 3, 4, -1).Forward(x) },
		"h.0: rotary positions rotate the 3 features of a key, which a latent of 2":   func(at Site, x graph.Expr) graph.Expr { at.Rotary = &RoPE{}; return NewMLA(at, 2).Forward(x) },
		"h.0: cached latent attention (12, 6), (12, 3), h.0.c_k_up.weight (3, 6), h.": func(at Site, x graph.Expr) graph.Expr { return NewMLA(at, 3).Step(x, pos(at)) }, // no cache
		"no cache to keep latents in":                                                 func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, 3, 3, 4, 9).Step(x, pos(at)) },
		"got a mask for every sequence, want one for all, (6, 6)": func(at Site, x graph.Expr) graph.Expr {
			padded(&at)
			at.Caches = Caches{}
			return NewMLA(at, 3).Step(x, pos(at))
		},
		"got 3 positions, want 1, or one for each of 2 sequences": func(at Site, x graph.Expr) graph.Expr {
			at.Caches = Caches{}
			return NewMLA(at, 3).Step(x, at.Ints("three", 3, at.Context, -1))
		},
		"latents: (12, 4), want (12, 3)": func(at Site, x graph.Expr) graph.Expr { // the cache of another model
			at.Caches = Caches{}
			NewMLA(at, 3)
			return NewMLA(Site{Scope: at.Scope, Dims: at.Dims, Affine: renaming, Mask: at.Mask, Caches: at.Caches}, 4).Step(x, pos(at))
		},
		"nn.reluOnly: only a Linear or a LoRA can be absorbed": func(at Site, x graph.Expr) graph.Expr {
			at.Caches = Caches{}
			l := NewMLA(at, 3)
			l.UpK = reluOnly{}
			return l.Step(x, pos(at))
		},
	} {
		g := graph.New(graph.Float64, 3)
		at := positioned(newSite(g, shapes[0]), shapes[0].Context, 0)
		_, err := graph.Compile(build(at, at.Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

type reluOnly struct{}

func (reluOnly) Forward(x graph.Expr) graph.Expr { return x.ReLU() }

// renaming builds linear layers with the names of existing ones.
func renaming(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer {
	return NewLinear(s.Sub("other"), in, out, bias, init)
}

// TestMLAOutOfContext: a position after the context is an error of the run, and nothing is written.
func TestMLAOutOfContext(t *testing.T) {
	d := shapes[0]
	g := graph.New(graph.Float64, 3)
	at := newSite(g, d)
	at.Caches = Caches{}
	pos := at.Ints("pos", 1, d.Context+3, -1)
	p, err := graph.Compile(NewMLA(at, 3).Step(at.Value("x", graph.Normal(1), 2*d.Batch, d.Embd), pos))
	if err != nil {
		t.Fatal(err)
	}
	pos.Ints()[0] = d.Context - 1
	if err := p.Run(); err == nil || !strings.Contains(err.Error(), "tokens 5 … 6 of a context of 6") {
		t.Errorf("got %v, want tokens 5 … 6 of a context of 6", err)
	}
	pos.Ints()[0] = d.Context - 2
	if err := p.Run(); err != nil {
		t.Error(err)
	}
}

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
