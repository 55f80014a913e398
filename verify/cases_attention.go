package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func attentionCases() []Case {
	padding := make([]bool, fixtureTokens) // of the second sequence
	padding[fixtureTokens-1], padding[fixtureTokens-2] = true, true
	lengths := []int{fixtureTokens, fixtureTokens - 2}
	causal := CausalMask(fixtureTokens)
	none := Zeros[float64](fixtureTokens, fixtureTokens)
	const heads, masked = "Boué (34), (35)", "Boué (13), Diab section 2.2, erratum D3b"
	return []Case{
		headsCase("I11", "a single head", "Boué (4)–(18), (22)–(33)", 1, unbiased(nn.Causal{}), 0, causal, causal),
		attentionCase("I14", "causal attention", heads, unbiased(nn.Causal{}), 0, causal, causal),
		attentionCase("I12", "attention in a window", masked, unbiased(nn.Window{Width: 3}), 0, WindowMask(fixtureTokens, 3), WindowMask(fixtureTokens, 3)),
		attentionCase("I12", "attention with padding", masked, unbiased(nn.Padding{Lengths: lengths}), 0, none, PaddingMask(padding)),
		attentionCase("I12", "causal attention with padding", masked, unbiased(nn.All{nn.Causal{}, nn.Padding{Lengths: lengths}}), 0, causal, causal.Add(PaddingMask(padding))),
		attentionCase("I14", "attention without a mask", heads, unbiased(nn.All{}), 0, Matrix[float64]{}, Matrix[float64]{}),
		attentionCase("I28", "attention with dropout", "Diab section 2.5, erratum D4", unbiased(nn.Causal{}), caseProbability, causal, causal),
	}
}

// masking makes the mask of a case.
type masking func(s graph.Scope, d nn.Dims) *nn.Mask

func unbiased(see nn.Visibility) masking {
	return func(s graph.Scope, d nn.Dims) *nn.Mask { return nn.NewMask(s, d, see) }
}

func attentionCase(id, name, source string, mask masking, dropout float64, masks ...Matrix[float64]) Case {
	return headsCase(id, name, source, fixtureHeads, mask, dropout, masks...)
}

func headsCase(id, name, source string, count int, mask masking, dropout float64, masks ...Matrix[float64]) Case {
	const n = fixtureBatch * fixtureTokens
	heads := MultiHead{Batch: fixtureBatch, Heads: count, QK: fixtureQK, Masks: masks}
	var resid Matrix[float64]
	if dropout > 0 {
		heads.Drop = caseDropout("attn.attn_dropout", count*n, fixtureTokens)
		resid = caseDropout("attn.resid_dropout", n, fixtureFeatures)
	}
	return Case{
		ID: id, Name: name, Types: []string{"SelfAttention"}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Heads = count
			at.Dropout, at.Mask = dropout, mask(at.Sub("own"), at.Dims)
			return nn.NewSelfAttention(at.At("attn")).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			out := MultiHeadForward(qkv, heads)
			return DropoutForward(LinearForward(out, p["attn.c_proj.weight"], p["attn.c_proj.bias"]), resid)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			g := Parameters[float64]{}
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			d := DropoutBackward(resid, delta)
			d, g["attn.c_proj.weight"], g["attn.c_proj.bias"] = LinearBackward(MultiHeadForward(qkv, heads), p["attn.c_proj.weight"], d)
			d = MultiHeadBackward(qkv, heads, d)
			g[input], g["attn.c_attn.weight"], g["attn.c_attn.bias"] = LinearBackward(p[input], p["attn.c_attn.weight"], d)
			return g
		},
		Zeros: []Columns{{"attn.c_attn.bias", count * fixtureQK, 2 * count * fixtureQK}},
	}
}

// keyBias are the columns of the packed bias that belong to the keys: identically zero (29).
func keyBias(name string) []Columns {
	return []Columns{{name, fixtureHeads * fixtureQK, 2 * fixtureHeads * fixtureQK}}
}
