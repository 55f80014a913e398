package nn

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestSiteErrors: missing or invalid fields of a site are errors and not panics, with and without kernels.
func TestSiteErrors(t *testing.T) {
	d := Dims{Batch: 2, Context: 3, Embd: 6, Heads: 2, QK: 3, V: 3, Inner: 5, Blocks: 1}
	x := func(at Site) graph.Expr { return at.Value("x", graph.Normal(1), 6, 6) }
	blind := func(layer func(at Site) Layer) func(at Site) {
		return func(at Site) { at.Mask = nil; layer(at).Forward(x(at)) }
	}
	for _, c := range []struct {
		want  string
		build func(at Site)
	}{
		{"h.0: no mask: the site must define which of the 3 tokens attend to which", blind(causal)},
		{
			"h.0: no mask: the site must define which of the 3 tokens attend to which",
			blind(func(at Site) Layer { return NewUnprojected(at) }),
		},
		{
			"h.0: no mask: the site must define which of the 3 tokens attend to which",
			blind(func(at Site) Layer { return NewMLA(at, 2) }),
		},
		{"h.0: linear attention with the mask nil", blind(func(at Site) Layer { return NewLinearAttention(at) })},
		{"h.0.longformer: no mask: one must define which tokens attend to which", blind(func(at Site) Layer {
			return NewLongformer(at, NewLongformerMask(at.Scope, at.Mask, Dilated{Width: 1, Dilation: []int{1, 1}}))
		})},
		{
			"h.0: no activation: the site needs one for the 5 features inside",
			func(at Site) { at.Act = nil; NewMLP(at).Forward(x(at)) },
		},
		{
			"h.0: 0 blocks: at least 1 is needed to initialise the residual stream",
			func(at Site) { at.Blocks = 0; NewMLP(at) },
		},
		{
			"h.0: rotary positions rotate queries and keys, but here they are the values, too",
			func(at Site) { at.Rotary = &RoPE{}; NewUnprojected(at) },
		},
		{"h.0: linear attention with the mask nn.Causal{} with nn.ALiBi: only", func(at Site) {
			at.Mask = NewBiasedMask(at.Sub("own"), d, Causal{}, NewALiBi(2))
			NewLinearAttention(at)
		}},
		{"h.0: linformer: keys are mixed over the entire context of 3 tokens, so the mask nn.All[] with nn.ALiBi " +
			"cannot be kept", func(at Site) {
			at.Mask = NewBiasedMask(at.Sub("own"), d, All{}, NewALiBi(2))
			NewLinformer(at, 2)
		}},
	} {
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			c.build(newSite(g, d))
			if err := g.Err(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("kernels %t: got %v, want %s", kernels, err, c.want)
			}
		}
	}
}

// TestStepRefuses: taking one token at a time needs a mask that hides the future, and attention with a cache.
func TestStepRefuses(t *testing.T) {
	d := Dims{Batch: 2, Context: 4, Embd: 6, Heads: 2, QK: 2, V: 3, Inner: 5, Blocks: 1}
	seeing := func(rule Visibility) func(Site) Site {
		return func(at Site) Site { at.Mask = NewMask(at.Sub("own"), d, rule); return at }
	}
	later, as := "h.0: one token at a time: query 0 attends to the later key 1", func(at Site) Site { return at }
	uncached := func(at Site) Layer { return NewUnprojected(at) }
	memory := func(at Site) *Memory { return NewMemory(at.Sub("memory"), graph.Expr{}, 2, 1, 3, nil) }
	for _, c := range []struct {
		want   string
		change func(Site) Site
		layer  func(at Site) Cached
	}{
		{later, seeing(All{}), func(at Site) Cached { return NewSelfAttention(at) }},
		{later, seeing(All{}), func(at Site) Cached { return NewMLA(at, 2) }},
		{
			later, seeing(Padding{[]int{4, 2}}),
			func(at Site) Cached { return NewMLARoPE(positioned(at, 4, 0), 2, 2, 2, 100) },
		},
		{
			"h.0: one token at a time: query 1 attends to the later key 2", seeing(peek{}),
			func(at Site) Cached { return NewSelfAttention(at) },
		},
		{
			"h.0: *nn.Unprojected stores nothing of earlier tokens", as,
			func(at Site) Cached { return NewBlock(at, uncached) },
		},
		{
			"h.0: *nn.Unprojected stores nothing of earlier tokens", as,
			func(at Site) Cached { return NewPostNormBlock(at, uncached) },
		},
		{
			"h.0: *nn.Unprojected stores nothing of earlier tokens", as,
			func(at Site) Cached { return NewSandwichBlock(at, uncached) },
		},
		{
			"h.0: *nn.Unprojected stores nothing of earlier tokens", as,
			func(at Site) Cached { return NewPostPartBlock(at, uncached) },
		},
		{
			"h.0: *nn.Unprojected stores nothing of earlier tokens", as,
			func(at Site) Cached { return NewParallelBlock(at, uncached) },
		},
		{
			"h.0: *nn.Unprojected stores nothing of earlier tokens", as,
			func(at Site) Cached { return NewParallelTwoBlock(at, uncached) },
		},
		{
			"h.0: *nn.Unprojected stores nothing of earlier tokens", as,
			func(at Site) Cached { at.Context = 1; return NewDecoderBlock(at, uncached, memory(at)) },
		},
		{
			"h.0: *nn.Unprojected stores nothing of earlier tokens", as,
			func(at Site) Cached { at.Context = 1; return NewPostNormDecoderBlock(at, uncached, memory(at)) },
		},
	} {
		g := graph.New(graph.Float64, 1)
		at := c.change(newSite(g, d))
		at.Caches = Caches{}
		c.layer(at).Step(at.Value("x", graph.Normal(1), 2, 6), at.Ints("pos", 1, 4, -1))
		if err := g.Err(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestOwnMLP: every kind of block uses the site's MLP, at the default place.
func TestOwnMLP(t *testing.T) {
	d := Dims{Batch: 2, Context: 1, Embd: 6, Heads: 2, QK: 2, V: 3, Inner: 5, Blocks: 1}
	memory := func(at Site) *Memory { return NewMemory(at.Sub("memory"), graph.Expr{}, 2, 1, 3, nil) }
	for name, mlp := range map[string]func(at Site) Layer{
		"Block":                func(at Site) Layer { return NewBlock(at, causal).Mlp },
		"PostNormBlock":        func(at Site) Layer { return NewPostNormBlock(at, causal).Mlp },
		"SandwichBlock":        func(at Site) Layer { return NewSandwichBlock(at, causal).Mlp },
		"ParallelBlock":        func(at Site) Layer { return NewParallelBlock(at, causal).Mlp },
		"DecoderBlock":         func(at Site) Layer { return NewDecoderBlock(at, causal, memory(at)).Mlp },
		"PostNormDecoderBlock": func(at Site) Layer { return NewPostNormDecoderBlock(at, causal, memory(at)).Mlp },
	} {
		at := newSite(graph.New(graph.Float64, 1), d)
		if l, ok := mlp(at).(*MLP); !ok {
			t.Errorf("%s: %T by default, want *nn.MLP", name, l)
		}
		at = newSite(graph.New(graph.Float64, 1), d)
		at.MLP = func(at Site) Layer { return NewDropout(at) }
		if l, ok := mlp(at).(*Dropout); !ok || l.scope.Path() != "h.0.mlp" {
			t.Errorf("%s: %T at %v, want the site's at h.0.mlp", name, mlp(at), l)
		}
	}
}

// peek lets the second token of the last head attend to the third, if there is one.
type peek struct{}

func (peek) Visible(_, i, j int) bool         { return j <= i }
func (peek) VisibleTo(head, _, i, j int) bool { return j <= i || head == 1 && i == 1 && j == 2 }

// TestStepLooksOnce: the mask is scanned once for all layers that share it; later direct changes are not noticed.
func TestStepLooksOnce(t *testing.T) {
	g := graph.New(graph.Float32, 1)
	m := NewMask(g.Root(), Dims{Batch: 1, Context: 8}, Causal{})
	m.requireCausal(g.Root())
	m.Expr().Tensor().Set(1, 0) // query 0 may attend to key 1
	m.requireCausal(g.Root())
	if err := g.Err(); err != nil {
		t.Error(err)
	}
}

// TestRandomKeysPerHead: drawn once for all heads, they would be keys that are hidden in some head.
func TestRandomKeysPerHead(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	rule := All{All{Causal{}, BigBird{Width: 1, Random: 2}}, Dilated{Width: 3, Dilation: []int{1, 2}}}
	NewMask(g.Root(), Dims{Batch: 1, Context: 4, Heads: 2}, rule)
	want := "mask: 2 random keys, drawn once for all heads, with a mask that differs between heads"
	if err := g.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// brokenLayer panics when it is used.
type brokenLayer struct{}

func (brokenLayer) Forward(graph.Expr) graph.Expr { panic("glass") }

// placeSite returns the site of a small model and its input x, 2 sequences of 3 tokens.
func placeSite(g *graph.Graph) (at Site, x graph.Expr) {
	d := Dims{Batch: 2, Context: 3, Embd: 8, Heads: 2, QK: 3, V: 5, Inner: 7, Blocks: 2}
	at = Site{
		Scope: g.Root().Sub("h.1"), Dims: d, Style: Style{Eps: 1e-5, Bias: true}, Sublayers: Sublayers{Act: GELU{}},
	}
	at.Mask = NewMask(g.Root(), d, Causal{})
	return at, g.Root().Param("x", graph.Normal(1), 6, 8)
}

// The input of a layer is the argument of its Forward, and its output the result, independent of its inner layers.
func TestEnteringIsTheInputOfTheLayer(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at, x := placeSite(g)
		b := NewBlock(at, func(at Site) Layer { return NewSelfAttention(at) })
		b.Forward(x).In(g.Root())
		enter := func(place string) any {
			y, err := g.Entering(place)
			if err != nil {
				t.Fatal(err)
			}
			return y.Node()
		}
		leave := func(place string) any {
			y, err := g.Leaving(place)
			if err != nil {
				t.Fatal(err)
			}
			return y.Node()
		}
		if enter("h.1") != x.Node() || enter("h.1.ln_1") != x.Node() {
			t.Error("the block does not begin with x")
		}
		for into, from := range map[string]string{
			"h.1.attn": "h.1.ln_1", "h.1.attn.c_attn": "h.1.ln_1", "h.1.mlp": "h.1.ln_2", "h.1.mlp.c_fc": "h.1.ln_2",
		} {
			if enter(into) != leave(from) {
				t.Errorf("%s gets something else than %s gives", into, from)
			}
		}
		if leave("h.1.mlp.c_fc") == enter("h.1.mlp") || leave("h.1.attn.c_attn") == enter("h.1.attn") {
			t.Error("the output of a layer equals its input")
		}
	}
}

// Parts of a block that are missing, or that panic when they are built or used, are errors with their place.
func TestPartsOfABlockThatCannotBe(t *testing.T) {
	plain := func(at Site) Layer { return NewSelfAttention(at) }
	for want, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"h.1.attn: panic: ": func(at Site, x graph.Expr) graph.Expr {
			return NewBlock(at, func(Site) Layer { return brokenLayer{} }).Forward(x)
		},
		"h.1.attn: panic: no": func(at Site, x graph.Expr) graph.Expr {
			return NewBlock(at, func(Site) Layer { panic("no") }).Forward(x)
		},
		"h.1.attn: no layer: the function that builds it is nil": func(at Site, x graph.Expr) graph.Expr {
			return NewPostNormBlock(at, nil).Forward(x)
		},
		"h.1.attn: no layer: the function": func(at Site, x graph.Expr) graph.Expr {
			return NewBlock(at, func(Site) Layer { return nil }).Forward(x)
		},
		"h.1.mlp: panic: ": func(at Site, x graph.Expr) graph.Expr {
			b := NewPostNormBlock(at, plain)
			b.Mlp = nil
			return b.Forward(x)
		},
		"h.1.ln_2: wrap (6, 8): *nn.LayerNorm, want one built by its " +
			"constructor: panic: ": func(at Site, x graph.Expr) graph.Expr {
			b := NewBlock(at, plain)
			b.Ln2 = (*LayerNorm)(nil)
			return b.Forward(x)
		},
		"h.1.mlp.act: panic: ": func(at Site, x graph.Expr) graph.Expr {
			at.Act = brokenLayer{}
			return NewBlock(at, plain).Forward(x)
		},
		"h.1.attn: panic: glass at ": func(at Site, x graph.Expr) graph.Expr {
			return NewBlock(at, func(Site) Layer { return stepless{} }).Step(x, x)
		},
		"MLA, want one built by its constructor: panic: ": func(_ Site, x graph.Expr) graph.Expr {
			return (&MLA{}).Forward(x)
		},
		"GroupedAttention, want one built by its constructor: panic: ": func(_ Site, x graph.Expr) graph.Expr {
			return (&GroupedAttention{}).Forward(x)
		},
		"Linformer, want one built by its constructor: panic: ": func(_ Site, x graph.Expr) graph.Expr {
			return (&Linformer{}).Forward(x)
		},
		"MLALatentRoPE, want one built by its constructor: panic: ": func(_ Site, x graph.Expr) graph.Expr {
			return (&MLALatentRoPE{}).Step(x, x)
		},
	} {
		g := graph.New(graph.Float64, 1)
		at, x := placeSite(g)
		if _, err := graph.Compile(build(at, x).SumAll(), x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

type stepless struct{ brokenLayer }

func (stepless) Step(x, at graph.Expr) graph.Expr { panic("glass") }

// An invalid mask is an error with the reason, for every layer that uses it.
func TestMasksThatCannotBe(t *testing.T) {
	d := Dims{Batch: 2, Context: 3, Heads: 2}
	for want, mask := range map[string]func(s graph.Scope) graph.Expr{
		"a.mask: a window of 0 tokens": func(s graph.Scope) graph.Expr { return NewMask(s, d, Window{}).Expr() },
		"a.mask: no Visibility":        func(s graph.Scope) graph.Expr { return NewMask(s, d, nil).Expr() },
		"a.mask: 1 lengths for a batch of 2": func(s graph.Scope) graph.Expr {
			return NewMask(s, d, Padding{[]int{1}}).Expr()
		},
		"a.mask: query 0 of sequence 0 attends to": func(s graph.Scope) graph.Expr {
			return NewMask(s, d, All{Causal{}, sightless{}}).Expr()
		},
		"a.longformer: no mask": func(s graph.Scope) graph.Expr { return NewLongformerMask(s, nil, Dilated{}).Expr() },
		"a.mask: panic: glass":  func(s graph.Scope) graph.Expr { return NewMask(s, d, panicking{}).Expr() },
		"a.mask: a batch of 0, 1 queries": func(s graph.Scope) graph.Expr {
			return NewMemory(s, graph.Expr{}, 0, 1, 1, nil).Expr()
		},
		"no graph: create one with New, Build, Sibling or Outline": func(graph.Scope) graph.Expr {
			return NewMask(graph.Scope{}, d, Causal{}).Expr()
		},
	} {
		g := graph.New(graph.Float64, 1)
		x := mask(g.Root().Sub("a"))
		for _, y := range []graph.Expr{x, x.Softmax(), x.Exp().Sum(), x.Add(x)} {
			if _, err := graph.Compile(y); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want %s", err, want)
			}
		}
	}
}

type sightless struct{}

func (sightless) Visible(_, _, _ int) bool { return false }

type panicking struct{}

func (panicking) Visible(_, _, _ int) bool { panic("glass") }

// Attention's dropout is placed on the weights, of shape (B, H, T, T); later operations on them belong to the layer.
func TestWeightsLeaveTheDropout(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	g.Kernels = false
	at, x := placeSite(g)
	NewSelfAttention(at.At("attn")).Forward(x)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	rho, err := g.Leaving("h.1.attn.attn_dropout")
	if err != nil {
		t.Fatal(err)
	}
	if got := rho.Shape(); !slices.Equal(got, []int{2, 2, 3, 3}) {
		t.Errorf("the output has shape %v, want (2, 2, 3, 3)", got)
	}
}
