package nn

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// double is a Link that doubles what it gets.
type double struct{ of func(Inside) graph.Expr }

// Forward returns it twice.
func (l double) Forward(in Inside) graph.Expr { return l.of(in).Scale(2) }

// No attention ignores a setting of heads in silence: its result changes, or it refuses the setting by both names.
func TestSettingsOfHeads(t *testing.T) {
	all := []string{"cap", "sinks", "before", "after", "value_residual"}
	settings := map[string]func(at *Site){
		"cap":   func(at *Site) { at.Cap = 0.01 },
		"sinks": func(at *Site) { *at = sunk(*at) },
		"before": func(at *Site) {
			at.Links.Before = []NamedLink{{"before", func(Site, fused.AttentionShape) Link {
				return double{func(in Inside) graph.Expr { return in.QKV }}
			}}}
		},
		"after": func(at *Site) {
			at.Links.After = []NamedLink{{"after", func(Site, fused.AttentionShape) Link {
				return double{func(in Inside) graph.Expr { return in.Y }}
			}}}
		},
		"value_residual": func(at *Site) {
			at.Links.Before = []NamedLink{{"value_residual", func(Site, fused.AttentionShape) Link {
				return double{func(in Inside) graph.Expr { return in.QKV }}
			}}}
		},
	}
	longformer := func(at Site) Layer {
		return NewLongformer(at, NewLongformerMask(at.Scope, at.Mask, dilatedTest(at.Dims)))
	}
	linformer := func(at Site) Layer {
		at.Mask = NewMask(at.Sub("m"), at.Dims, All{})
		return NewLinformer(at, 2)
	}
	for name, a := range map[string]struct {
		attention Attention
		applies   []string
	}{
		"self-attention":       {causal, all},
		"grouped attention":    {func(at Site) Layer { return NewGroupedAttention(at, 1, true) }, all},
		"difference":           {func(at Site) Layer { at.Heads = 2; return NewDiffAttention(at) }, all},
		"sigmoid attention":    {func(at Site) Layer { return NewSigmoidAttention(at) }, all[2:]},
		"forgetting attention": {func(at Site) Layer { return NewForgettingAttention(at) }, all[2:]},
		"linear attention": {
			func(at Site) Layer { return NewLinearAttention(at) }, []string{"before", "value_residual"},
		},
		"taylor": {
			func(at Site) Layer { return NewTaylorAttention(at) }, []string{"before", "value_residual"},
		},
		"longformer":            {longformer, []string{"cap", "before"}},
		"linformer":             {linformer, []string{"before", "value_residual"}},
		"latent attention":      {func(at Site) Layer { return newMLA(at) }, nil},
		"unprojected attention": {func(at Site) Layer { return NewUnprojected(at) }, nil},
		"gla":                   {func(at Site) Layer { return NewGLA(at) }, nil},
		"mingru":                {func(at Site) Layer { return NewMinGRU(at) }, nil},
	} {
		run := func(set func(at *Site)) ([]float64, error) {
			g := graph.New(graph.Float64, 5)
			at := newSite(g, shapes[0])
			if set != nil {
				set(&at)
			}
			d := at.Dims
			y := a.attention(at).Forward(g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd))
			if g.Err() != nil {
				return nil, g.Err()
			}
			return output(t, y).Floats(), nil
		}
		plain, err := run(nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for setting, set := range settings {
			y, err := run(set)
			switch applies := slices.Contains(a.applies, setting); {
			case applies && (err != nil || slices.Equal(y, plain)):
				t.Errorf("%s ignores %s: %v", name, setting, err)
			case !applies && (err == nil || !strings.Contains(err.Error(), " with ") ||
				!strings.Contains(err.Error(), setting)):
				t.Errorf("%s with %s: got error %v", name, setting, err)
			}
		}
	}
}

// A mixture of experts refuses the limit of clamped experts.
func TestExpertsHaveNoLimit(t *testing.T) {
	for _, limit := range []float64{0, 7, -1} {
		g := graph.New(graph.Float64, 5)
		at := newSite(g, shapes[0])
		at.Experts = Experts{Routing: Routing{Router: fused.Router{Experts: 2, Active: 1}}, Limit: limit}
		NewMoE(at)
		const want = "h.0: a mixture of experts with the limit "
		if err := g.Err(); (err != nil) != (limit != 0) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("limit %v: got error %v", limit, err)
		}
	}
}

// A mixture of experts refuses a short convolution inside its experts. Blocks build the convolutions at other places.
func TestExpertsHaveNoConvolution(t *testing.T) {
	for _, places := range [][]ConvPlace{{ConvAttention, ConvProjections, ConvMLP}, {ConvInner}} {
		g := graph.New(graph.Float64, 5)
		at := convolvedAt(newSite(g, shapes[0]), places...)
		at.Experts = Experts{Routing: Routing{Router: fused.Router{Experts: 2, Active: 1}}}
		NewMoE(at)
		const want = "h.0: a mixture of experts with a short convolution at place d: the experts have none"
		if err := g.Err(); (err != nil) != (len(places) == 1) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("convolutions at %v: got error %v", places, err)
		}
	}
}
