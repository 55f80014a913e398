package verify

import "github.com/pedestrian-ml/pedestrian/graph"

// places are the activations whose Δ both sides know: what the formulas call the Δ at the output of one part is the
// gradient of what enters the next.
type places struct {
	graph *graph.Graph
	found map[string]graph.Expr
}

func (p places) add(name, next string) {
	if x, err := p.graph.Entering(next); err == nil {
		p.found[name] = x
	}
}

// leaving adds what the layer of that name gives, where it does not enter another layer.
func (p places) leaving(name string) {
	if x, err := p.graph.Leaving(name); err == nil {
		p.found[name] = x
	}
}

// sublayers adds what is inside the block of that name. Where queries, keys and values come each by a way of its own,
// packed is false.
func (p places) sublayers(h string, packed bool) {
	p.add(h+".mlp.act", h+".mlp.c_proj")
	p.leaving(h + ".mlp.c_fc")
	p.leaving(h + ".mlp.c_gate")
	p.add(h+".attn.heads", h+".attn.c_proj")
	if packed {
		p.leaving(h + ".attn.c_attn")
	}
}
