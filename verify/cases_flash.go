package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// flashCases hold attention against formulas that go over the scores in tiles, as the kernel does.
func flashCases() []Case {
	return []Case{
		flashCase("causal attention in tiles", nn.Causal{}, CausalMask(fixtureTokens), Tile{Queries: 4, Keys: 2}),
		flashCase("attention without a mask in tiles", nn.All{}, Matrix[float64]{}, Tile{Queries: 1, Keys: 5}),
	}
}

func flashCase(name string, see nn.Visibility, mask Matrix[float64], tile Tile) Case {
	heads := MultiHead{Batch: fixtureBatch, Heads: fixtureHeads, QK: fixtureQK}
	return Case{
		ID: "I44", Name: name, Types: []string{"SelfAttention"}, Source: "Xu (69)–(84), errata X1, X1b, X14",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Mask = nn.NewMask(at.Sub("own"), at.Dims, see)
			return nn.NewSelfAttention(at.At("attn")).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			return LinearForward(FlashHeadsForward(qkv, heads, mask, tile), p["attn.c_proj.weight"], p["attn.c_proj.bias"])
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			g := Parameters[float64]{}
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			d := delta
			d, g["attn.c_proj.weight"], g["attn.c_proj.bias"] = LinearBackward(FlashHeadsForward(qkv, heads, mask, tile), p["attn.c_proj.weight"], d)
			d = FlashHeadsBackward(qkv, heads, mask, tile, d)
			g[input], g["attn.c_attn.weight"], g["attn.c_attn.bias"] = LinearBackward(p[input], p["attn.c_attn.weight"], d)
			return g
		},
		Zeros: keyBias("attn.c_attn.bias"),
	}
}
