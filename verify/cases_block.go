package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func blockCases() []Case {
	attention := func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }
	return []Case{
		mlpCase("mlp", nn.GELU{}, GELU),
		mlpCase("mlp with relu", nn.ReLU{}, ReLU),
		blockCase("block", "Block", "Boué table 2, a₂ to a₁₀", GPT{}, func(at nn.Site) nn.Layer { return nn.NewBlock(at, attention) }),
		blockCase("post-norm block", "PostNormBlock", "Vaswani et al. 2017", GPT{PostNorm: true},
			func(at nn.Site) nn.Layer { return nn.NewPostNormBlock(at, attention) }),
	}
}

func mlpCase(name string, act nn.Layer, g Activation) Case {
	return Case{
		ID: "I23", Name: name, Types: []string{"MLP"}, Source: "Boué table 2, a₇ to a₉",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Act = act
			return nn.NewMLP(at).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] { return MLPForward(p[input], feedForward(p), g) },
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			dx, d := MLPBackward(p[input], feedForward(p), g, delta)
			return Parameters[float64]{input: dx, "c_fc.weight": d.W1, "c_fc.bias": d.B1, "c_proj.weight": d.W2, "c_proj.bias": d.B2}
		},
	}
}

func feedForward[T Number](p Parameters[T]) MLP[T] {
	return MLP[T]{p["c_fc.weight"], p["c_fc.bias"], p["c_proj.weight"], p["c_proj.bias"]}
}

func blockCase(name, kind, source string, c GPT, layer func(nn.Site) nn.Layer) Case {
	c.Batch, c.Context, c.Heads, c.QK, c.Eps = fixtureBatch, fixtureTokens, fixtureHeads, fixtureQK, 1e-5
	return Case{
		ID: "I25", Name: name, Types: []string{kind}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr { return layer(at.At("h.0")).Forward(x) },
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			b, err := BlockForward(c, p, 0, p[input])
			b.A10.Err = err
			return b.A10
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			b, err := BlockForward(c, p, 0, p[input])
			if err != nil {
				return Parameters[float64]{input: {Err: err}}
			}
			dx, g, err := BlockBackward(c, p, 0, b, delta)
			dx.Err = err
			g[input] = dx
			return g
		},
		Zeros: keyBias("h.0.attn.c_attn.bias"),
	}
}
