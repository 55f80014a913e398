package verify

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// places holds the activations whose Δ both sides compute. The formulas name a Δ by the part whose output it belongs
// to; in the library it is the gradient of the input of the next part.
type places struct {
	graph *graph.Graph
	found map[string]graph.Expr
}

func (p places) add(name, next string) {
	if x, err := p.graph.Entering(next); err == nil {
		p.found[name] = x
	}
	if first, ok := strings.CutSuffix(next, ".c_attn"); ok {
		p.add(name, first+".conv")
	}
	if first, ok := strings.CutSuffix(next, ".c_fc"); ok {
		p.add(name, first+".conv")
		p.add(name, first+".router")
	}
}

// leaving adds the output of the named layer, for outputs that do not enter another layer.
func (p places) leaving(name string) {
	if x, err := p.graph.Leaving(name); err == nil {
		p.found[name] = x
	}
}

// sublayers adds the activations inside the named block. packed reports whether one layer computes queries, keys and
// values.
func (p places) sublayers(h string, packed bool) {
	p.add(h+".mlp.act", h+".mlp.c_proj")
	p.leaving(h + ".mlp.c_fc")
	p.leaving(h + ".mlp.c_gate")
	p.add(h+".attn.heads", h+".attn.c_proj")
	if packed {
		p.leaving(h + ".attn.c_attn")
	}
}
