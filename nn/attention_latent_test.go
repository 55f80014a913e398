package nn

import (
	"fmt"
	"math"
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
