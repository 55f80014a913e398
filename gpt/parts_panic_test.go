package gpt

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// glass panics when it is used.
type glass struct{}

func (glass) Forward(graph.Expr) graph.Expr { panic("glass") }

// A user-defined part that panics, returns nil, or cannot be built is an error that names it, or its place.
func TestPartsThatPanic(t *testing.T) {
	data, tok := corpus(t, verses, 8)
	broken := func(nn.Site) nn.Layer { panic("glass") }
	fragile := func(nn.Site) nn.Layer { return glass{} }
	nothing := func(nn.Site) nn.Layer { return nil }
	for how, layer := range map[string]func(nn.Site) nn.Layer{"its New": broken, "its Forward": fragile, "no layer": nothing, "no function": nil} {
		for kind, c := range map[string]struct {
			r    parts.Registry
			want []string // the part by kind and name, or its place
		}{
			"attention": {parts.Registry{Attentions: []parts.Attention{{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention { return layer }}}}, []string{`attention "ours"`, "h.0.attn: "}},
			"norm":      {parts.Registry{Norms: []parts.Norm{{Name: "ours", New: layer}}}, []string{"norm: got ours", "h.0.ln_1: ", "ln_f"}},
			"mlp":       {parts.Registry{MLPs: []parts.MLP{{Name: "ours", New: layer}}}, []string{"mlp: got ours", "h.0.mlp: "}},
			"block": {parts.Registry{Blocks: []parts.Block{{Name: "ours", Final: true, New: func(at nn.Site, _ nn.Attention) nn.Layer { return layer(at) }}}},
				[]string{"h.0: "}},
			"head": {parts.Registry{Heads: []parts.Head{{Name: "ours", New: func(at nn.Site, _ int, _ *nn.Embedding) nn.Layer { return layer(at) }}}},
				[]string{"lm_head: "}},
			"activation": {parts.Registry{Activations: []parts.Activation{{Name: "ours", Layer: glass{}}}}, []string{"h.0.mlp.act: "}},
			"position": {parts.Registry{Positions: []parts.Position{{Name: "ours", New: func(at nn.Site, _ parts.Stack) nn.Placement {
				return nn.Placement{Layer: layer(at)}
			}}}}, []string{`position "ours"`, "position: "}},
			"optimizer": {parts.Registry{Optimizers: []parts.Optimizer{{Name: "ours", New: func([]graph.Expr, train.Training, int) (optim.Optimizer, error) {
				panic("glass")
			}}}}, []string{`optimizer "ours"`}},
		} {
			config := tiny()
			config.Parts = c.r
			for field, to := range map[string]*string{"attention": &config.Attention, "norm": &config.Norm, "mlp": &config.MLP, "block": &config.Block,
				"head": &config.Head, "activation": &config.Activation, "position": &config.Position, "optimizer": &config.Optimizer} {
				if field == kind {
					*to = "ours"
				}
			}
			_, err := NewTrainer(config, data, tok)
			if kind == "position" && how == "no layer" && err == nil {
				continue // a position may have none
			}
			named := false
			for _, want := range c.want {
				named = named || err != nil && strings.Contains(err.Error(), want)
			}
			if !named {
				t.Errorf("%s, %s: got error %v, want one of %q", kind, how, err, c.want)
			}
		}
	}
}

// A part with only a name is refused with the configuration, by kind and name; an optimizer when it is built.
func TestPartsWithoutNew(t *testing.T) {
	data, tok := corpus(t, verses, 8)
	for kind, change := range map[string]func(*Config){
		"position":  func(c *Config) { c.Position, c.Parts.Positions = "ours", []parts.Position{{Name: "ours"}} },
		"attention": func(c *Config) { c.Attention, c.Parts.Attentions = "ours", []parts.Attention{{Name: "ours"}} },
		"norm":      func(c *Config) { c.Norm, c.Parts.Norms = "ours", []parts.Norm{{Name: "ours"}} },
		"block":     func(c *Config) { c.Block, c.Parts.Blocks = "ours", []parts.Block{{Name: "ours"}} },
		"mlp":       func(c *Config) { c.MLP, c.Parts.MLPs = "ours", []parts.MLP{{Name: "ours"}} },
		"head":      func(c *Config) { c.Head, c.Parts.Heads = "ours", []parts.Head{{Name: "ours"}} },
		"optimizer": func(c *Config) { c.Optimizer, c.Parts.Optimizers = "ours", []parts.Optimizer{{Name: "ours"}} },
	} {
		c := tiny()
		change(&c)
		c.VocabSize = tok.Size()
		if err := c.Validate(); kind != "optimizer" {
			mustContain(t, err, kind+": got ours, a part without New: nothing builds it")
		}
		_, err := NewTrainer(c, data, tok)
		mustContain(t, err, kind, "ours", "nothing builds it")
	}
}
