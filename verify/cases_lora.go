package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func loraCases() []Case {
	one, three := []int{fixtureHidden}, []int{fixtureHeads * fixtureQK, fixtureHeads * fixtureQK, fixtureHeads * fixtureValues}
	return []Case{
		loraCase("adapter", "mlp.c_fc", one, nil),
		loraCase("adapter over a frozen base", "mlp.c_fc", one, []string{"mlp.c_fc.weight", "mlp.c_fc.bias"}),
		loraCase("an adapter each for queries, keys and values", "attn.c_attn", three, nil),
	}
}

// loraCase adapts a linear layer. That a base is frozen means that nothing is differentiated by it; Δ goes back through it
// all the same.
func loraCase(name, path string, out []int, frozen []string) Case {
	const scale = 0.7
	c := GPT{Heads: fixtureHeads, QK: fixtureQK, LoRAScale: scale}
	return Case{
		ID: "I26", Name: name, Types: []string{"LoRA"}, Source: "Boué (43)–(46), erratum B3",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			affine := nn.NewLoRA(func(string) bool { return true }, fixtureRank, scale)
			return affine(at.Sub("%s", path), at.Embd, out, true, graph.Const(0)).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			r := run[complex128]{GPT: c, p: p}
			return r.linear(path, p[input])
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			r := run[float64]{GPT: c, p: p, g: Parameters[float64]{}}
			r.g[input] = r.linearBackward(path, p[input], delta)
			return r.g
		},
		Frozen: frozen,
	}
}
