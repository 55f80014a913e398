package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The sizes of rotary positions in a Case: two groups make a token of the fixture, and an angle has room to differ.
const (
	fixtureRotary = 4
	fixtureTheta  = 100
)

func ropeCases() []Case {
	return []Case{ropeCase(), ropeAttentionCase()}
}

// caseRotary are rotary positions for the tokens of a Case, in so many groups.
func caseRotary(groups int) Rotary {
	return Rotary{Positions: Positions(fixtureBatch, fixtureTokens), Groups: groups, Size: fixtureRotary, Theta: fixtureTheta}
}

// withPositions is at with the positions of the tokens.
func withPositions(at nn.Site) nn.Site {
	at.Positions = at.Ints("positions", at.Batch*at.Context, at.Context, -1)
	copy(at.Positions.Ints(), Positions(at.Batch, at.Context))
	return at
}

func ropeCase() Case {
	r := caseRotary(fixtureFeatures / fixtureRotary)
	return Case{
		ID: "I08", Name: "rotary positions", Types: []string{"RoPE"}, Source: "Xu (47)–(56)",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			return nn.NewRoPE(withPositions(at).At("rope"), fixtureRotary, fixtureTheta).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] { return RoPEForward(p[input], r) },
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			return Parameters[float64]{input: RoPEBackward(r, delta)}
		},
	}
}

// ropeAttentionCase turns queries and keys between their projection and the attention. A key's bias turns too, and no
// longer cancels in the softmax.
func ropeAttentionCase() Case {
	causal := CausalMask(fixtureTokens)
	heads := MultiHead{Batch: fixtureBatch, Heads: fixtureHeads, QK: fixtureRotary, Masks: []Matrix[float64]{causal, causal}}
	r := caseRotary(2 * fixtureHeads)
	return Case{
		ID: "I08", Name: "causal attention with rotary positions", Types: []string{"SelfAttention", "RoPE"}, Source: "Xu (47)–(56)",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at = withPositions(at)
			at.QK = fixtureRotary
			at.Rotary = nn.NewRoPE(at.At("rope"), at.QK, fixtureTheta)
			return nn.NewSelfAttention(at.At("attn")).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			qkv := RoPEForward(LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"]), r)
			return LinearForward(MultiHeadForward(qkv, heads), p["attn.c_proj.weight"], p["attn.c_proj.bias"])
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			g := Parameters[float64]{}
			qkv := RoPEForward(LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"]), r)
			var d Matrix[float64]
			d, g["attn.c_proj.weight"], g["attn.c_proj.bias"] = LinearBackward(MultiHeadForward(qkv, heads), p["attn.c_proj.weight"], delta)
			d = RoPEBackward(r, MultiHeadBackward(qkv, heads, d))
			g[input], g["attn.c_attn.weight"], g["attn.c_attn.bias"] = LinearBackward(p[input], p["attn.c_attn.weight"], d)
			return g
		},
	}
}
