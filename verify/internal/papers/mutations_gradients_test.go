package papers

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// gradientMutations returns mistakes in the way of the Δ to the gradients.
func gradientMutations() []mutation {
	bias := func(change func(g hand.Gradients[float64], at string, bias matrix) matrix) func(hand.Gradients[float64], parameters) {
		return func(g hand.Gradients[float64], p parameters) {
			for i := range fixture.Blocks {
				at := fmt.Sprintf("h.%d.attn.", i)
				p[at+"c_attn.bias"] = change(g, at, p[at+"c_attn.bias"])
			}
		}
	}
	keys := func(bias, keys matrix) matrix { // columns 6 to 12 are the keys'
		return hand.JoinColumns(bias.Columns(0, 6), keys, bias.Columns(12, 22))
	}
	factor := func(names ...string) func(hand.Gradients[float64], parameters) {
		return func(_ hand.Gradients[float64], p parameters) {
			for name := range p {
				if slices.ContainsFunc(names, func(end string) bool { return len(name) > len(end) && name[len(name)-len(end):] == end }) {
					p[name] = p[name].Scale(1 / 1.5) // α
				}
			}
		}
	}
	part := func(index int) func(hand.Gradients[float64], parameters) {
		return func(g hand.Gradients[float64], p parameters) {
			var both []matrix // of the embedding, then of the head
			for _, e := range g {
				if e.Name == "wte.weight" && !e.Delta {
					both = append(both, e.Value)
				}
			}
			p["wte.weight"] = both[index]
		}
	}
	const n, d = fixture.Tokens, fixture.Features
	return []mutation{
		{name: "key_bias_wrong_axis", variant: "generic", gradients: bias(func(g hand.Gradients[float64], at string, bias matrix) matrix {
			return keys(bias, deltaOf(g, at+"c_attn").Columns(6, 12).SumFeatures().Tokens(0, 6).Transpose())
		})},
		{name: "key_bias_zero_shortcut", variant: "generic", equivalent: true, gradients: bias(func(_ hand.Gradients[float64], _ string, bias matrix) matrix {
			return keys(bias, hand.Zeros[float64](1, 6))
		})},
		{name: "bv_shortcut_eq24", variant: "generic", equivalent: true, gradients: bias(func(g hand.Gradients[float64], at string, bias matrix) matrix {
			return hand.JoinColumns(bias.Columns(0, 12), deltaOf(g, at+"heads").SumTokens())
		})},
		{name: "bias_mean", variant: "generic", gradients: func(_ hand.Gradients[float64], p parameters) {
			p["lm_head.bias"] = p["lm_head.bias"].Scale(1.0 / 12)
		}},
		{name: "emb_overwrite", variant: "generic", gradients: func(g hand.Gradients[float64], p parameters) {
			f, d1 := fixture.Generic(), deltaOf(g, "drop")
			p["wte.weight"] = p["wte.weight"].Scale(0)
			for i, token := range f.Tokens {
				copy(p["wte.weight"].Data[token*d:(token+1)*d], d1.Tokens(i, i+1).Data)
			}
		}},
		{name: "pos_shift1", variant: "generic", gradients: func(_ hand.Gradients[float64], p parameters) {
			p["wpe.weight"] = hand.JoinTokens(hand.Zeros[float64](1, d), p["wpe.weight"].Tokens(0, 8))
		}},
		{name: "pos_overwrite_batch", variant: "generic", gradients: func(g hand.Gradients[float64], p parameters) {
			p["wpe.weight"] = hand.JoinTokens(deltaOf(g, "drop").Tokens(n, 2*n), hand.Zeros[float64](fixture.Positions-n, d))
		}},
		{name: "tied_forget_head", variant: "tied", gradients: part(0)},
		{name: "tied_forget_emb", variant: "tied", gradients: part(1)},
		{name: "lora_forget_alpha", variant: "lora", gradients: factor(".lora_d", ".lora_u")},
	}
}
