package papers

import (
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// layerMutations returns mistakes in activations, norms, the stack, the adapters and the loss.
func layerMutations() []mutation {
	norm := func(name string, change func(l hand.Layer[float64]) hand.Layer[float64]) mutation {
		return mutation{name: name, variant: "generic", model: func(m *wrongModel, _ fixture.Fixture) { m.norms(change) }}
	}
	block := func(name string, change func(m *wrongModel, i int, b hand.Block[float64]) hand.Layer[float64]) mutation {
		return mutation{name: name, variant: "generic", model: func(m *wrongModel, _ fixture.Fixture) {
			m.blocks(func(i int, b hand.Block[float64]) hand.Layer[float64] { return change(m, i, b) })
		}}
	}
	return []mutation{
		{name: "gelu_other_fwd", variant: "generic", model: func(m *wrongModel, _ fixture.Fixture) {
			m.activations(wrongLayer{Layer: hand.GELU[float64]{}, forward: hand.GELUTanh[float64]{}.Forward})
		}},
		{name: "gelu_other_bwd", variant: "generic", model: func(m *wrongModel, _ fixture.Fixture) {
			m.activations(wrongLayer{Layer: hand.GELU[float64]{}, backward: hand.GELUTanh[float64]{}.Backward})
		}},
		norm("ln_unbiased_bwd", normBackward(func(g, norm, sigma matrix) matrix { // ÷ (d − 1)
			return g.Sub(g.Mean().Scale(8.0 / 7)).Sub(norm.Mul(norm.Mul(g).Mean().Scale(8.0 / 7))).Div(sigma)
		})),
		norm("ln_wrong_precedence", normBackward(func(g, norm, sigma matrix) matrix {
			return g.Sub(g.Mean()).Sub(norm.Mul(norm.Mean()).Mul(g)).Div(sigma)
		})),
		norm("ln_sum_tokens", normBackward(func(g, norm, sigma matrix) matrix {
			return g.Sub(g.SumTokens().Scale(1.0 / 12)).Sub(norm.Mul(norm.Mul(g).SumTokens().Scale(1.0 / 12))).Div(sigma)
		})),
		norm("ln_sigma_plus_eps_fwd", func(l hand.Layer[float64]) hand.Layer[float64] {
			return hand.LayerNormSigma[float64](l.(hand.LayerNorm[float64]))
		}),
		norm("ln_gamma_grad_no_xhat", func(l hand.Layer[float64]) hand.Layer[float64] {
			return wrongLayer{Layer: l, backward: func(x, delta matrix) (matrix, hand.Gradients[float64]) {
				dx, g := l.Backward(x, delta)
				g[0].Value = delta.SumTokens()
				return dx, g
			}}
		}),
		{name: "sigma_norm_for_unit", variant: "sigma", model: func(m *wrongModel, _ fixture.Fixture) {
			m.norms(func(l hand.Layer[float64]) hand.Layer[float64] {
				right := l.(hand.LayerNormSigma[float64])
				return wrongLayer{Layer: l, backward: func(x, delta matrix) (matrix, hand.Gradients[float64]) {
					_, g := right.Backward(x, delta)
					unit, sigma := normalise(x, 0)
					divisor, dnorm := sigma.Shift(right.Eps), delta.Mul(right.Weight)
					norm := unit.Mul(sigma.Div(divisor))
					return dnorm.Sub(dnorm.Mean()).Sub(norm.Mul(norm.Mul(dnorm).Mean())).Div(divisor), g
				}}
			})
		}},
		block("skip1_forgotten", func(_ *wrongModel, _ int, b hand.Block[float64]) hand.Layer[float64] {
			return wrongLayer{Layer: b, backward: func(a1, d10 matrix) (matrix, hand.Gradients[float64]) {
				d1, g := b.Backward(a1, d10)
				return d1.Sub(deltaOf(g, "attn")), g
			}}
		}),
		block("skip2_forgotten", func(_ *wrongModel, _ int, b hand.Block[float64]) hand.Layer[float64] {
			return wrongLayer{Layer: b, backward: func(a1, d10 matrix) (matrix, hand.Gradients[float64]) {
				own := b
				own.Norm2 = wrongLayer{Layer: b.Norm2, backward: func(x, d6 matrix) (matrix, hand.Gradients[float64]) {
					through, g := b.Norm2.Backward(x, d6)
					return through.Sub(d10), g
				}}
				return own.Backward(a1, d10)
			}}
		}),
		block("ln1_uses_X0", func(m *wrongModel, _ int, b hand.Block[float64]) hand.Layer[float64] {
			right := b.Norm1
			b.Norm1 = wrongLayer{Layer: right, backward: func(_, delta matrix) (matrix, hand.Gradients[float64]) {
				return right.Backward(m.inputs[0], delta)
			}}
			return b
		}),
		{name: "lora_forget_frozen_path", variant: "lora", model: func(m *wrongModel, _ fixture.Fixture) {
			m.linears(func(l hand.Linear[float64]) hand.Layer[float64] {
				return wrongLayer{Layer: l, backward: func(x, delta matrix) (dx matrix, g hand.Gradients[float64]) {
					dx, g = l.Backward(x, delta)
					if len(l.Adapters) > 0 {
						dx = dx.Sub(delta.MatMul(l.Weight.Transpose()))
					}
					return dx, g
				}}
			})
		}},
		{name: "ce_div_by_total", variant: "padding", model: func(m *wrongModel, f fixture.Fixture) {
			loss := m.Loss
			m.Loss = func(targets []int) hand.Layer[float64] {
				kept := 0.0
				for _, target := range targets {
					if target != hand.Ignore {
						kept++
					}
				}
				return wrongLayer{Layer: loss(targets), backward: func(z, delta matrix) (matrix, hand.Gradients[float64]) {
					return loss(targets).Backward(z, delta.Scale(kept/float64(len(targets))))
				}}
			}
		}},
	}
}
