package cases

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// Every part that a configuration can name has a Case by hand for its layer, and a formula by hand for complete models.
func TestEveryPartIsVerified(t *testing.T) {
	var certified []string
	for _, c := range All() {
		certified = append(certified, c.Parts...)
	}
	known := parts.Library()
	type list struct {
		names []string
		set   func(p *variants.Plan, name string)
	}
	lists := map[string]list{
		"position":   {parts.Names(known.Positions), func(p *variants.Plan, name string) { p.Position = name }},
		"attention":  {parts.Names(known.Attentions), func(p *variants.Plan, name string) { p.Attention = name }},
		"norm":       {parts.Names(known.Norms), func(p *variants.Plan, name string) { p.Norm = name }},
		"block":      {parts.Names(known.Blocks), func(p *variants.Plan, name string) { p.Block = name }},
		"activation": {parts.Names(known.Activations), func(p *variants.Plan, name string) { p.Activation = name }},
		"mlp":        {parts.Names(known.MLPs), func(p *variants.Plan, name string) { p.MLP = name }},
		"head":       {parts.Names(known.Heads), func(p *variants.Plan, name string) { p.Head = name }},
	}
	for _, k := range parts.Kinds() {
		if k.Computes() {
			lists[k.Key] = list{parts.Names(k.Variants()), func(p *variants.Plan, name string) {
				p.With = map[string]string{k.Key: name}
			}}
		}
	}
	for kind, list := range lists {
		for _, name := range list.names {
			plan := variants.Plan{
				Position: "none", Attention: "causal", Norm: "layernorm", Block: "pre", Activation: "gelu",
				Head: "tied",
			}
			list.set(&plan, name)
			if _, err := variants.Model[float64](plan, nil); err != nil {
				t.Errorf("%s=%s: verify/internal/variants has no row for it: %v", kind, name, err)
				continue
			}
			// none has no layer
			if part := kind + "=" + name; !strings.HasSuffix(part, "=none") && !slices.Contains(certified, part) {
				t.Errorf("%s: no Case certifies it; want Settings in its row in verify/internal/variants", part)
			}
		}
	}
}
