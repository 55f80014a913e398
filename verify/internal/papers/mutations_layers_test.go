package papers

import (
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

type (
	attentionLayer = hand.SelfAttention[float64]
	layerGradients = hand.Gradients[float64]
)

// layerMutations returns mistakes in activations, norms, the stack, the adapters and the loss.
func layerMutations() []mutation {
	norm := func(name string, change func(l hand.Layer[float64]) hand.Layer[float64]) mutation {
		return mutation{
			name: name, variant: "generic", model: func(m *wrongModel, _ fixture.Fixture) { m.norms(change) },
		}
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
			return g.Sub(g.SumTokens().Scale(1.0 / 12)).Sub(
				norm.Mul(norm.Mul(g).SumTokens().Scale(1.0 / 12)),
			).Div(sigma)
		})),
		norm("ln_sigma_plus_eps_fwd", func(l hand.Layer[float64]) hand.Layer[float64] {
			return hand.LayerNormSigma[float64](l.(hand.LayerNorm[float64]))
		}),
		norm("ln_gamma_grad_no_xhat", func(l hand.Layer[float64]) hand.Layer[float64] {
			return wrongLayer{Layer: l, backward: func(x, delta matrix) (matrix, layerGradients) {
				dx, g := l.Backward(x, delta)
				g[0].Value = delta.SumTokens()
				return dx, g
			}}
		}),
		{name: "sigma_norm_for_unit", variant: "sigma", model: func(m *wrongModel, _ fixture.Fixture) {
			m.norms(func(l hand.Layer[float64]) hand.Layer[float64] {
				right := l.(hand.LayerNormSigma[float64])
				return wrongLayer{Layer: l, backward: func(x, delta matrix) (matrix, layerGradients) {
					_, g := right.Backward(x, delta)
					unit, sigma := normalise(x, 0)
					divisor, dnorm := sigma.Shift(right.Eps), delta.Mul(right.Weight)
					norm := unit.Mul(sigma.Div(divisor))
					return dnorm.Sub(dnorm.Mean()).Sub(norm.Mul(norm.Mul(dnorm).Mean())).Div(divisor), g
				}}
			})
		}},
		block("skip1_forgotten", func(_ *wrongModel, _ int, b hand.Block[float64]) hand.Layer[float64] {
			return wrongLayer{Layer: b, backward: func(a1, d10 matrix) (matrix, layerGradients) {
				d1, g := b.Backward(a1, d10)
				return d1.Sub(deltaOf(g, "attn")), g
			}}
		}),
		block("skip2_forgotten", func(_ *wrongModel, _ int, b hand.Block[float64]) hand.Layer[float64] {
			return wrongLayer{Layer: b, backward: func(a1, d10 matrix) (matrix, layerGradients) {
				own := b
				own.Norm2 = wrongLayer{Layer: b.Norm2, backward: func(x, d6 matrix) (matrix, layerGradients) {
					through, g := b.Norm2.Backward(x, d6)
					return through.Sub(d10), g
				}}
				return own.Backward(a1, d10)
			}}
		}),
		block("ln1_uses_X0", func(m *wrongModel, _ int, b hand.Block[float64]) hand.Layer[float64] {
			right := b.Norm1
			b.Norm1 = wrongLayer{Layer: right, backward: func(_, delta matrix) (matrix, layerGradients) {
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
				return wrongLayer{Layer: loss(targets), backward: func(z, delta matrix) (matrix, layerGradients) {
					return loss(targets).Backward(z, delta.Scale(kept/float64(len(targets))))
				}}
			}
		}},
	}
}

// attentionMutations returns mistakes in a head, or between the heads and the rest.
func attentionMutations() []mutation {
	head := func(name string, equivalent bool, wrong wrongHead) mutation {
		return mutation{name: name, variant: "generic", equivalent: equivalent,
			model: func(m *wrongModel, _ fixture.Fixture) {
				m.heads(func(right hand.Attention[float64]) hand.Head[float64] {
					own := wrong
					own.right = right
					return own
				})
			}}
	}
	attention := func(name string, change func(m *wrongModel, i int, l attentionLayer) attentionLayer) mutation {
		return mutation{name: name, variant: "generic", model: func(m *wrongModel, _ fixture.Fixture) {
			attentions(m, func(i int, l attentionLayer) hand.Layer[float64] { return change(m, i, l) })
		}}
	}
	visible := func(mask matrix) matrix { return mask.Exp() }
	multiply := func(scaled, mask matrix) matrix { return scaled.Mul(visible(mask)).Softmax() }
	only := func(dcausal, mask matrix) matrix { return dcausal.Mul(visible(mask)) }
	none := func(x matrix) matrix { return x.Scale(0) }
	return []mutation{
		head("scale_d_model", false, wrongHead{width: fixture.Features}),
		head("scale_dh", false, wrongHead{width: fixture.Values}),
		head("scale_none", false, wrongHead{width: 1}),
		head("mask_multiplicative", false, wrongHead{weights: multiply}),
		head("mask_multiplicative+mult_keep_mask", false, wrongHead{weights: multiply, causal: only}),
		head("mask_bwd_extra", true, wrongHead{causal: only}),
		head(
			"post_softmax_zero", false,
			wrongHead{weights: func(scaled, mask matrix) matrix { return scaled.Softmax().Mul(visible(mask)) }},
		),
		head(
			"softmax_axis0", false,
			wrongHead{
				weights: func(scaled, mask matrix) matrix { return scaled.Add(mask).Transpose().Softmax().Transpose() },
			},
		),
		head(
			"swap_dS_T", false,
			wrongHead{
				back: func(draw, q, k matrix) (dq, dk matrix) { return draw.Transpose().MatMul(k), draw.MatMul(q) },
			},
		),
		head(
			"swap_q_k", false,
			wrongHead{
				back: func(draw, q, k matrix) (dq, dk matrix) { return draw.MatMul(q), draw.Transpose().MatMul(k) },
			},
		),
		head(
			"drop_q_branch", false,
			wrongHead{out: func(dq, dk, dv matrix) (_, _, _ matrix) { return none(dq), dk, dv }},
		),
		head(
			"drop_k_branch", false,
			wrongHead{out: func(dq, dk, dv matrix) (_, _, _ matrix) { return dq, none(dk), dv }},
		),
		head(
			"drop_v_branch", false,
			wrongHead{out: func(dq, dk, dv matrix) (_, _, _ matrix) { return dq, dk, none(dv) }},
		),
		attention("head_interleave", func(_ *wrongModel, _ int, l attentionLayer) attentionLayer {
			l.After = replaced(l.After, "c_proj", func(right hand.Layer[float64]) hand.Layer[float64] {
				return wrongLayer{right,
					func(x matrix) matrix { return right.Forward(interleavedHeads(x, fixture.Heads)) },
					func(x, delta matrix) (matrix, layerGradients) {
						return right.Backward(interleavedHeads(x, fixture.Heads), delta)
					},
				}
			})
			return l
		}),
		attention("qkv_input_is_x_not_ln", func(m *wrongModel, i int, l attentionLayer) attentionLayer {
			l.Before = replaced(l.Before, "c_attn", func(right hand.Layer[float64]) hand.Layer[float64] {
				return wrongLayer{Layer: right, backward: func(_, delta matrix) (matrix, layerGradients) {
					return right.Backward(m.inputs[i], delta)
				}}
			})
			return l
		}),
		attention("wo_forgotten", func(_ *wrongModel, _ int, l attentionLayer) attentionLayer {
			l.After = replaced(l.After, "c_proj", func(right hand.Layer[float64]) hand.Layer[float64] {
				return wrongLayer{Layer: right, backward: func(x, delta matrix) (matrix, layerGradients) {
					_, g := right.Backward(x, delta)
					return hand.Join(delta, delta.Columns(0, 2)), g
				}}
			})
			return l
		}),
		{name: "latent_key_of_one_head", variant: "latents", model: func(m *wrongModel, _ fixture.Fixture) {
			attentions(m, func(_ int, l hand.MLARoPE[float64]) hand.Layer[float64] {
				right := l.Heads.Head
				l.Heads.Head = func(b, h int) hand.Head[float64] {
					return wrongHead{right: right(b, h).(hand.Attention[float64]),
						out: func(dq, dk, dv matrix) (_, _, _ matrix) {
							if h > 0 {
								dk = hand.Join(
									dk.Columns(0, fixture.QK), dk.Columns(fixture.QK, dk.Cols).Scale(0),
								)
							}
							return dq, dk, dv
						}}
				}
				return l
			})
		}},
		{name: "latent_drop_values", variant: "latents", model: func(m *wrongModel, _ fixture.Fixture) {
			attentions(m, func(_ int, l hand.MLARoPE[float64]) hand.Layer[float64] {
				right := l.UpV
				l.UpV = wrongLayer{Layer: right, backward: func(x, delta matrix) (matrix, layerGradients) {
					dx, g := right.Backward(x, delta)
					return dx.Scale(0), g
				}}
				return l
			})
		}},
		{name: "longformer_pairs_twice", variant: "longformer", model: func(m *wrongModel, _ fixture.Fixture) {
			attentions(m, func(_ int, l hand.Longformer[float64]) hand.Layer[float64] {
				right := l.Heads.Masks
				l.Heads.Masks = func(b, h int) hand.LongformerMask {
					mask := right(b, h)
					mask.Local = hand.Either(
						mask.Local, hand.CausalMask(fixture.Tokens).Add(hand.WindowMask(fixture.Tokens, 2)),
					)
					return mask
				}
				return l
			})
		}},
	}
}
