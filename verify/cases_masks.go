package verify

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// maskCases are attention in sparse graphs, in other graphs for other heads, and with biases.
func maskCases() []Case {
	const n = fixtureTokens
	global, dilation, lengths := []int{2}, []int{1, 2}, []int{n, n - 2}
	dilated := nn.Dilated{Width: 2, Dilation: dilation, Global: global}
	causal := CausalMask(n)
	windows, biases := make([]Matrix[float64], fixtureHeads), make([]Matrix[float64], fixtureHeads)
	for h := range fixtureHeads {
		windows[h] = Either(DilatedMask(n, 2, dilation[h]), GlobalMask(n, global))
		biases[h] = ALiBiMask(n, h+1, fixtureHeads)
	}
	var padded []Matrix[float64]
	for _, length := range lengths {
		for _, w := range windows {
			padded = append(padded, w.Add(SourceMask(n, n, length)))
		}
	}
	bird := nn.BigBird{Width: 1, Global: []int{3}, Random: 1, Seed: 5}
	birds := BigBirdMask(n, bird.Width, bird.Global, drawnKeys(nn.All{nn.Causal{}, bird})).Add(causal)
	return []Case{
		attentionCase("I12", "dilated attention per head with padding", "Diab section 2.2, erratum D3b; Beltagy et al. 2020", unbiased(nn.All{nn.Padding{Lengths: lengths}, dilated}), 0, padded...),
		attentionCase("I13", "causal attention in BigBird's graph", "Conti (13), erratum C8", unbiased(nn.All{nn.Causal{}, bird}), 0, birds, birds),
		attentionCase("I13", "causal attention in Longformer's graph", "Beltagy et al. 2020, 3.1; Conti 2.1.1, erratum C13", unbiased(nn.All{nn.Causal{}, dilated}), 0, eachSequence(windows, causal)...),
		attentionCase("I07", "causal attention with linear biases", "CS 224n (13), erratum S1", linearBiases(nn.Causal{}), 0, eachSequence(biases, causal)...),
		attentionCase("I07", "attention with linear biases", "CS 224n (13), erratum S1", linearBiases(nn.All{}), 0, slices.Concat(biases, biases)...),
		longformerCase("longformer with global projections", nn.All{}, dilated, Zeros[float64](n, n)),
		longformerCase("causal longformer with global projections", nn.Causal{}, dilated, causal),
	}
}

func linearBiases(see nn.Visibility) masking {
	return func(s graph.Scope, d nn.Dims) *nn.Mask {
		return nn.NewBiasedMask(s, d, see, nn.NewALiBi(fixtureHeads))
	}
}

// eachSequence is the masks of the heads under another one, for every sequence.
func eachSequence(heads []Matrix[float64], under Matrix[float64]) (out []Matrix[float64]) {
	for range fixtureBatch {
		for _, m := range heads {
			out = append(out, m.Add(under))
		}
	}
	return out
}

// drawnKeys asks the library which keys chance has drawn: those that a query sees and would not see without chance.
func drawnKeys(see nn.All) [][]int {
	const n = fixtureTokens
	plain := slices.Clone(see)
	for i, v := range plain {
		if bird, ok := v.(nn.BigBird); ok {
			bird.Random = 0
			plain[i] = bird
		}
	}
	read := func(v nn.Visibility) []float64 {
		return nn.NewMask(spelled.graph(caseSeed, caseStep).Root(), generic(), v).Expr().Tensor().Floats()
	}
	with, without := read(see), read(plain)
	keys := make([][]int, n)
	for i := range with {
		if with[i] != without[i] {
			keys[i/n] = append(keys[i/n], i%n)
		}
	}
	return keys
}

func longformerCase(name string, see nn.Visibility, dilated nn.Dilated, under Matrix[float64]) Case {
	const n = fixtureTokens
	heads := MultiHead{Batch: fixtureBatch, Heads: fixtureHeads, QK: fixtureQK}
	var masks []LongformerMask
	for range fixtureBatch {
		for h := range fixtureHeads {
			global := GlobalMask(n, dilated.Global)
			local := Except(DilatedMask(n, dilated.Width, dilated.Dilation[h]), global)
			masks = append(masks, LongformerMask{Local: local.Add(under), Global: global.Add(under)})
		}
	}
	return Case{
		ID: "I13", Name: name, Types: []string{"Longformer"}, Source: "Beltagy et al. 2020, 3.1; Conti 2.1.1",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			mask := nn.NewMask(at.Sub("own"), at.Dims, see)
			return nn.NewLongformer(at.At("attn"), nn.NewLongformerMask(at.Sub("own"), mask, dilated)).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			near := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			global := LinearForward(p[input], p["attn.c_attn_global.weight"], p["attn.c_attn_global.bias"])
			out := LongformerHeadsForward(near, global, heads, masks)
			return LinearForward(out, p["attn.c_proj.weight"], p["attn.c_proj.bias"])
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			g := Parameters[float64]{}
			near := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			global := LinearForward(p[input], p["attn.c_attn_global.weight"], p["attn.c_attn_global.bias"])
			out := LongformerHeadsForward(near, global, heads, masks)
			d, dw, db := LinearBackward(out, p["attn.c_proj.weight"], delta)
			g["attn.c_proj.weight"], g["attn.c_proj.bias"] = dw, db
			dnear, dglobal := LongformerHeadsBackward(near, global, heads, masks, d)
			dx, dw, db := LinearBackward(p[input], p["attn.c_attn.weight"], dnear)
			g["attn.c_attn.weight"], g["attn.c_attn.bias"] = dw, db
			more, dw, db := LinearBackward(p[input], p["attn.c_attn_global.weight"], dglobal)
			g["attn.c_attn_global.weight"], g["attn.c_attn_global.bias"] = dw, db
			g[input] = dx.Add(more)
			return g
		},
	}
}
