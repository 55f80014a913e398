package nn

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// brokenLayer panics when it is used.
type brokenLayer struct{}

func (brokenLayer) Forward(graph.Expr) graph.Expr { panic("glass") }

// placeSite returns the site of a small model and its input x, 2 sequences of 3 tokens.
func placeSite(g *graph.Graph) (at Site, x graph.Expr) {
	d := Dims{Batch: 2, Context: 3, Embd: 8, Heads: 2, QK: 3, V: 5, Inner: 7, Blocks: 2}
	at = Site{Scope: g.Root().Sub("h.1"), Dims: d, Eps: 1e-5, Act: GELU{}, Bias: true}
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
		for into, from := range map[string]string{"h.1.attn": "h.1.ln_1", "h.1.attn.c_attn": "h.1.ln_1", "h.1.mlp": "h.1.ln_2", "h.1.mlp.c_fc": "h.1.ln_2"} {
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
		"h.1.ln_2: wrap (6, 8): *nn.LayerNorm, want one built by its constructor: panic: ": func(at Site, x graph.Expr) graph.Expr {
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
		"MLA, want one built by its constructor: panic: ":              func(_ Site, x graph.Expr) graph.Expr { return (&MLA{}).Forward(x) },
		"GroupedAttention, want one built by its constructor: panic: ": func(_ Site, x graph.Expr) graph.Expr { return (&GroupedAttention{}).Forward(x) },
		"Linformer, want one built by its constructor: panic: ":        func(_ Site, x graph.Expr) graph.Expr { return (&Linformer{}).Forward(x) },
		"MLALatentRoPE, want one built by its constructor: panic: ":    func(_ Site, x graph.Expr) graph.Expr { return (&MLALatentRoPE{}).Step(x, x) },
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
		"a.mask: a window of 0 tokens":                             func(s graph.Scope) graph.Expr { return NewMask(s, d, Window{}).Expr() },
		"a.mask: no Visibility":                                    func(s graph.Scope) graph.Expr { return NewMask(s, d, nil).Expr() },
		"a.mask: 1 lengths for a batch of 2":                       func(s graph.Scope) graph.Expr { return NewMask(s, d, Padding{[]int{1}}).Expr() },
		"a.mask: query 0 of sequence 0 attends to":                 func(s graph.Scope) graph.Expr { return NewMask(s, d, All{Causal{}, sightless{}}).Expr() },
		"a.longformer: no mask":                                    func(s graph.Scope) graph.Expr { return NewLongformerMask(s, nil, Dilated{}).Expr() },
		"a.mask: panic: glass":                                     func(s graph.Scope) graph.Expr { return NewMask(s, d, panicking{}).Expr() },
		"a.mask: a batch of 0, 1 queries":                          func(s graph.Scope) graph.Expr { return NewMemory(s, graph.Expr{}, 0, 1, 1, nil).Expr() },
		"no graph: create one with New, Build, Sibling or Outline": func(graph.Scope) graph.Expr { return NewMask(graph.Scope{}, d, Causal{}).Expr() },
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
