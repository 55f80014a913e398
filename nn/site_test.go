package nn

import (
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
		{"h.0: no mask: the site must define which of the 3 tokens attend to which", blind(func(at Site) Layer { return NewUnprojected(at) })},
		{"h.0: no mask: the site must define which of the 3 tokens attend to which", blind(func(at Site) Layer { return NewMLA(at, 2) })},
		{"h.0: linear attention with the mask nil", blind(func(at Site) Layer { return NewLinearAttention(at) })},
		{"h.0.longformer: no mask: one must define which tokens attend to which", blind(func(at Site) Layer {
			return NewLongformer(at, NewLongformerMask(at.Scope, at.Mask, Dilated{Width: 1, Dilation: []int{1, 1}}))
		})},
		{"h.0: no activation: the site needs one for the 5 features inside", func(at Site) { at.Act = nil; NewMLP(at).Forward(x(at)) }},
		{"h.0: 0 blocks: at least 1 is needed to initialise the residual stream", func(at Site) { at.Blocks = 0; NewMLP(at) }},
		{"h.0: rotary positions rotate queries and keys, but here they are the values, too", func(at Site) { at.Rotary = &RoPE{}; NewUnprojected(at) }},
		{"h.0: linear attention with the mask nn.Causal{} with nn.ALiBi: only", func(at Site) {
			at.Mask = NewBiasedMask(at.Sub("own"), d, Causal{}, NewALiBi(2))
			NewLinearAttention(at)
		}},
		{"h.0: linformer: keys are mixed over the entire context of 3 tokens, so the mask nn.All[] with nn.ALiBi cannot be kept", func(at Site) {
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
		{later, seeing(Padding{[]int{4, 2}}), func(at Site) Cached { return NewMLARoPE(positioned(at, 4, 0), 2, 2, 2, 100) }},
		{"h.0: one token at a time: query 1 attends to the later key 2", seeing(peek{}), func(at Site) Cached { return NewSelfAttention(at) }},
		{"h.0: *nn.Unprojected stores nothing of earlier tokens", as, func(at Site) Cached { return NewBlock(at, uncached) }},
		{"h.0: *nn.Unprojected stores nothing of earlier tokens", as, func(at Site) Cached { return NewPostNormBlock(at, uncached) }},
		{"h.0: *nn.Unprojected stores nothing of earlier tokens", as, func(at Site) Cached { at.Context = 1; return NewDecoderBlock(at, uncached, memory(at)) }},
		{"h.0: *nn.Unprojected stores nothing of earlier tokens", as, func(at Site) Cached { at.Context = 1; return NewPostNormDecoderBlock(at, uncached, memory(at)) }},
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
