package papers

import (
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// attentionMutations returns mistakes in a head, or between the heads and the rest.
func attentionMutations() []mutation {
	head := func(name string, equivalent bool, wrong wrongHead) mutation {
		return mutation{name: name, variant: "generic", equivalent: equivalent, model: func(m *wrongModel, _ fixture.Fixture) {
			m.heads(func(right hand.Attention[float64]) hand.Head[float64] {
				own := wrong
				own.right = right
				return own
			})
		}}
	}
	attention := func(name string, change func(m *wrongModel, i int, l hand.SelfAttention[float64]) hand.SelfAttention[float64]) mutation {
		return mutation{name: name, variant: "generic", model: func(m *wrongModel, _ fixture.Fixture) {
			attentions(m, func(i int, l hand.SelfAttention[float64]) hand.Layer[float64] { return change(m, i, l) })
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
		head("post_softmax_zero", false, wrongHead{weights: func(scaled, mask matrix) matrix { return scaled.Softmax().Mul(visible(mask)) }}),
		head("softmax_axis0", false, wrongHead{weights: func(scaled, mask matrix) matrix { return scaled.Add(mask).Transpose().Softmax().Transpose() }}),
		head("swap_dS_T", false, wrongHead{back: func(draw, q, k matrix) (dq, dk matrix) { return draw.Transpose().MatMul(k), draw.MatMul(q) }}),
		head("swap_q_k", false, wrongHead{back: func(draw, q, k matrix) (dq, dk matrix) { return draw.MatMul(q), draw.Transpose().MatMul(k) }}),
		head("drop_q_branch", false, wrongHead{out: func(dq, dk, dv matrix) (_, _, _ matrix) { return none(dq), dk, dv }}),
		head("drop_k_branch", false, wrongHead{out: func(dq, dk, dv matrix) (_, _, _ matrix) { return dq, none(dk), dv }}),
		head("drop_v_branch", false, wrongHead{out: func(dq, dk, dv matrix) (_, _, _ matrix) { return dq, dk, none(dv) }}),
		attention("head_interleave", func(_ *wrongModel, _ int, l hand.SelfAttention[float64]) hand.SelfAttention[float64] {
			right := l.Proj
			l.Proj = wrongLayer{right,
				func(x matrix) matrix { return right.Forward(interleavedHeads(x, fixture.Heads)) },
				func(x, delta matrix) (matrix, hand.Gradients[float64]) {
					return right.Backward(interleavedHeads(x, fixture.Heads), delta)
				},
			}
			return l
		}),
		attention("qkv_input_is_x_not_ln", func(m *wrongModel, i int, l hand.SelfAttention[float64]) hand.SelfAttention[float64] {
			right := l.QKV
			l.QKV = wrongLayer{Layer: right, backward: func(_, delta matrix) (matrix, hand.Gradients[float64]) {
				return right.Backward(m.inputs[i], delta)
			}}
			return l
		}),
		attention("wo_forgotten", func(_ *wrongModel, _ int, l hand.SelfAttention[float64]) hand.SelfAttention[float64] {
			right := l.Proj
			l.Proj = wrongLayer{Layer: right, backward: func(x, delta matrix) (matrix, hand.Gradients[float64]) {
				_, g := right.Backward(x, delta)
				return hand.JoinColumns(delta, delta.Columns(0, 2)), g
			}}
			return l
		}),
		{name: "latent_key_of_one_head", variant: "latents", model: func(m *wrongModel, _ fixture.Fixture) {
			attentions(m, func(_ int, l hand.MLARoPE[float64]) hand.Layer[float64] {
				right := l.Heads.Head
				l.Heads.Head = func(b, h int) hand.Head[float64] {
					return wrongHead{right: right(b, h).(hand.Attention[float64]), out: func(dq, dk, dv matrix) (_, _, _ matrix) {
						if h > 0 {
							dk = hand.JoinColumns(dk.Columns(0, fixture.QK), dk.Columns(fixture.QK, dk.Cols).Scale(0))
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
				l.UpV = wrongLayer{Layer: right, backward: func(x, delta matrix) (matrix, hand.Gradients[float64]) {
					dx, g := right.Backward(x, delta)
					return dx.Scale(0), g
				}}
				return l
			})
		}},
		{name: "longformer_pairs_twice", variant: "longformer", model: func(m *wrongModel, _ fixture.Fixture) {
			attentions(m, func(_ int, l hand.Longformer[float64]) hand.Layer[float64] {
				right := l.Masks
				l.Masks = func(b, h int) hand.LongformerMask {
					mask := right(b, h)
					mask.Local = hand.Either(mask.Local, hand.CausalMask(fixture.Tokens).Add(hand.WindowMask(fixture.Tokens, 2)))
					return mask
				}
				return l
			})
		}},
	}
}
