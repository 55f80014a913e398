package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// rms is a norm without a formula here, y = w ∘ x / √(mean x² + ε), and a change of its result.
type rms struct {
	weight graph.Expr
	eps    float64
	change func(x, y graph.Expr) graph.Expr
}

func (l rms) Forward(x graph.Expr) graph.Expr {
	return l.change(x, x.Div(x.Square().Mean().Shift(l.eps).Sqrt()).Mul(l.weight))
}

// ownNorm returns small with that norm.
func ownNorm(change func(x, y graph.Expr) graph.Expr) gpt.Config {
	return small(func(c *gpt.Config) {
		c.Norm = "rms"
		c.Parts.Norms = []parts.Norm{{Name: "rms", New: func(at nn.Site) nn.Layer {
			return rms{at.Param("weight", graph.Const(1), at.Embd), at.Eps, change}
		}}}
	})
}

func unchanged(_, y graph.Expr) graph.Expr { return y }

// A model with a part that has no formula is compared with central differences, and the report states that. A part
// fails if its gradient does not belong to its value, or if its kernels differ from its reference form.
func TestCheckOwnParts(t *testing.T) {
	attention := small(func(c *gpt.Config) {
		c.Attention, c.Activation = "mean", "relu" // which has bends
		c.Parts.Attentions = []parts.Attention{{Name: "mean", New: func(nn.Site, parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }
		}}}
	})
	mlp := small(func(c *gpt.Config) {
		c.Parts.MLPs = []parts.MLP{{Name: "narrow", New: func(at nn.Site) nn.Layer {
			return nn.NewLinear(at.Sub("c_proj"), at.Embd, []int{at.Embd}, true, graph.Const(0))
		}}}
		c.MLP = "narrow"
	})
	link := small(func(c *gpt.Config) {
		c.Parts.Kinds = []parts.Kind{{Key: "doubled", Variants: func() []parts.Variant {
			return []parts.Variant{{Name: "none"}, {Name: "twice",
				After: parts.Apart(func(nn.Site, fused.AttentionShape) nn.Link {
					return nn.LinkFunc(func(in nn.Inside) graph.Expr { return in.Y.Scale(2) })
				})}}
		}}}
		c.With.Set("doubled", "twice")
	})
	for name, tc := range map[string]struct {
		c    gpt.Config
		want string // in the failures
	}{
		"link":      {link, ""},
		"norm":      {ownNorm(unchanged), ""},
		"attention": {attention, ""},
		"mlp":       {mlp, ""},
		"gradient": {
			ownNorm(func(x, y graph.Expr) graph.Expr { return y.Add(x.RowMax().Scale(1e-3)) }),
			"central differences: distance",
		},
		"kernels": {ownNorm(func(x, y graph.Expr) graph.Expr {
			if x.Graph().Kernels {
				return y.Scale(1 + 1e-7)
			}
			return y
		}), "kernels: distance"},
	} {
		s, err := newModel(t, tc.c).subject()
		if err != nil {
			t.Fatal(err)
		}
		r, err := check(unwatched(), s, sampling{few: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.Join(r.Failures, "; ")
		if r.OK() != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got failures %q, want %q", name, got, tc.want)
		}
		if want := []string{"autodiff", "central differences", "kernels", "float32"}; r.ByHand ||
			!slices.Equal(r.Roads, want) {
			t.Errorf("%s: by hand %t, roads %q, want %q", name, r.ByHand, r.Roads, want)
		}
		if tc.want == "" && !(r.Worst > Suspicion && r.Worst <= toleranceDifferences) {
			t.Errorf("%s: worst %.1e, want that of central differences", name, r.Worst)
		}
	}
}

// The sizes at the site are the Case's, and otherwise DefaultDims: odd and all different, with at least three heads. A
// gradient that is wrong only for groups of two heads is found with four heads, not with two.
func TestCaseDims(t *testing.T) {
	d := DefaultDims()
	sizes := []int{d.Batch, d.Context, d.Embd, d.Heads, d.QK, d.V, d.Inner}
	slices.Sort(sizes)
	if len(slices.Compact(slices.Clone(sizes))) != 7 || d.Heads < 3 || d.Embd%d.Heads != 0 ||
		slices.ContainsFunc(sizes, func(n int) bool { return n%2 == 0 }) {
		t.Errorf("got default sizes %v, want seven odd ones and three heads or more that share the width", sizes)
	}
	var got nn.Dims
	c := Case{Build: func(at nn.Site, x graph.Expr) graph.Expr {
		got = at.Dims
		return x.Square().Add(x.RowMax().Scale(float64(at.Heads/2 - 1))) // RowMax takes no part in differentiation
	}}
	for _, tc := range []struct {
		dims nn.Dims
		ok   bool
	}{{nn.Dims{}, true}, {nn.Dims{Heads: 2, Context: 4}, true}, {nn.Dims{Heads: 4, Embd: 12}, false}} {
		c.Dims = tc.dims
		r, err := c.Run()
		if err != nil {
			t.Fatal(err)
		}
		want := DefaultDims()
		if tc.dims.Heads > 0 {
			want.Heads = tc.dims.Heads
		}
		if tc.dims.Embd > 0 {
			want.Embd = tc.dims.Embd
		}
		if tc.dims.Context > 0 {
			want.Context = tc.dims.Context
		}
		if r.OK() != tc.ok || got != want {
			t.Errorf("%+v: got sizes %+v and failures %v, want %+v and OK %t", tc.dims, got, r.Failures, want, tc.ok)
		}
	}
	c.Dims = nn.Dims{Heads: -1}
	if _, err := c.Run(); err == nil || !strings.Contains(err.Error(), "Dims: heads: got -1") {
		t.Errorf("got error %v, want the negative size", err)
	}
}
