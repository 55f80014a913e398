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
		ID: "I44", Name: name, Types: []string{"CausalSelfAttention"}, Source: "Xu (69)–(84), errata X1, X1b, X14",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Mask = nn.NewMask(at.Sub("own"), at.Dims, see)
			return nn.NewCausalSelfAttention(at.At("attn")).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			return LinearForward(flashHeads(qkv, heads, mask, tile), p["attn.c_proj.weight"], p["attn.c_proj.bias"])
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			g := Parameters[float64]{}
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			d := delta
			d, g["attn.c_proj.weight"], g["attn.c_proj.bias"] = LinearBackward(flashHeads(qkv, heads, mask, tile), p["attn.c_proj.weight"], d)
			d = flashHeadsBackward(qkv, heads, mask, tile, d)
			g[input], g["attn.c_attn.weight"], g["attn.c_attn.bias"] = LinearBackward(p[input], p["attn.c_attn.weight"], d)
			return g
		},
		Zeros: keyBias("attn.c_attn.bias"),
	}
}

// flashHeads is MultiHeadForward in tiles.
func flashHeads[T Number](qkv Matrix[T], m MultiHead, mask Matrix[float64], tile Tile) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range m.Batch {
		heads := make([]Matrix[T], m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, qkv, b, h)
			heads[h], _ = FlashForward(q, k, v, mask, tile)
		}
		sequences[b] = JoinColumns(heads...)
	}
	return JoinTokens(sequences...)
}

// flashHeadsBackward is MultiHeadBackward in tiles.
func flashHeadsBackward[T Number](qkv Matrix[T], m MultiHead, mask Matrix[float64], tile Tile, delta Matrix[T]) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range m.Batch {
		parts := make([]Matrix[T], 3*m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, qkv, b, h)
			own := delta.Tokens(b*q.Rows, (b+1)*q.Rows).Columns(h*v.Cols, (h+1)*v.Cols)
			o, lse := FlashForward(q, k, v, mask, tile)
			parts[h], parts[m.Heads+h], parts[2*m.Heads+h] = FlashBackward(q, k, v, mask, o, lse, own, tile)
		}
		sequences[b] = JoinColumns(parts...)
	}
	return JoinTokens(sequences...)
}
