package hand_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Sizes of the layers below: two sequences of four tokens, two heads.
const (
	batch = 2
	n     = 4
	heads = 2
	qk    = heads * 4
)

// example is a layer with the names and shapes of its input and parameters.
type example[T hand.Number] struct {
	name, shapes string
	layer        func(at hand.Site[T]) hand.Layer[T]
}

const (
	attentionShapes = "c_attn.weight 5 22, c_attn.bias 1 22, c_proj.weight 6 5, c_proj.bias 1 5, "
	crossShapes     = "c_q.weight 5 8, c_q.bias 1 8, c_kv.weight 5 14, c_kv.bias 1 14, c_proj.weight 6 5, " +
		"c_proj.bias 1 5, "
	latentShapes = "c_kv_down.weight 5 3, c_k_up.weight 3 8, c_v_up.weight 3 6, c_proj.weight 6 5, c_proj.bias 1 5, "
	ropeShapes   = "c_q_down.weight 5 7, c_q_up.weight 7 8, c_q_rope.weight 7 8, " + latentShapes
	mlpShapes    = "c_fc.weight 5 7, c_fc.bias 1 7, c_proj.weight 7 5, c_proj.bias 1 5, "
	blockShapes  = "ln_1.weight 1 5, ln_1.bias 1 5, ln_2.weight 1 5, attn." +
		"c_attn.weight 5 22, attn.c_proj.weight 6 5, " +
		"mlp.c_fc.weight 5 7, mlp.c_fc.bias 1 7, mlp.c_proj.weight 7 5, "
	decoderShapes = blockShapes + "z 6 5, ln_cross.weight 1 5, cross.c_q.weight 5 8, cross.c_kv.weight 5 14, " +
		"cross.c_proj.weight 6 5, "
)

// examples returns all layers.
func examples[T hand.Number]() []example[T] {
	type (
		site  = hand.Site[T]
		layer = hand.Layer[T]
	)
	causal := hand.CausalMask(n)
	attend := func(at site, mask hand.Matrix[float64]) hand.Heads[T] {
		return hand.Heads[T]{Batch: batch, Count: heads, Head: func(b, h int) hand.Head[T] {
			return hand.Attention[T]{Mask: mask, Drop: at.Drop("attn_dropout").Head(b, h, heads, n)}
		}}
	}
	alone := func(head func(b, h int) hand.Head[T]) func(site) layer {
		return func(site) layer {
			return split[T]{hand.Heads[T]{Batch: batch, Count: heads, Head: head}}
		}
	}
	linear := func(phi layer, see hand.Matrix[float64]) func(site) layer {
		return alone(func(_, _ int) hand.Head[T] { return hand.LinearAttention[T]{Features: phi, See: see} })
	}
	rope := hand.RoPE[T]{Positions: hand.Positions(batch, n), Size: 4, Theta: 10}
	scaled := func(s hand.RotaryScaling) layer {
		return hand.RoPE[T]{Positions: hand.Positions(batch, n), Size: 6, Theta: 10, Scaling: s}
	}
	global := func(at site, rotary layer) layer {
		return at.Longformer(batch, heads, qk, rotary, func(b, h int) hand.LongformerMask {
			m := hand.LongformerMask{Local: hand.WindowMask(n, 2), Global: hand.Except(causal, hand.WindowMask(n, 2))}
			if rotary == nil {
				m.Drop = dropout("attn_dropout wide")
			}
			return m
		})
	}
	block := func(at site) hand.Block[T] {
		return hand.Block[T]{
			Norm1: at.At("ln_1").LayerNorm(), Attention: at.At("attn").SelfAttention(attend(at, causal), qk, nil),
			Norm2: at.At("ln_2").LayerNorm(), MLP: at.At("mlp").MLP(hand.GELU[T]{}),
		}
	}
	cross := func(at site) layer {
		return at.CrossAttention(attend(at, hand.SourceMask(n, 3, 2)), qk, at.Parameters["z"])
	}
	targets := []int{2, 0, hand.Ignore, 6, 1, 1, hand.Ignore, 3}
	rollout := hand.Rollout{
		Actions: []int{2, 0, 5, 6, 1, 1, 4, 3}, Advantages: fixture.Random("advantages", 8, 1),
		Weights: fixture.Random("weights", 8, 1).Shift(1), LogProbs: fixture.Random(
			"log-probabilities", 8, 1,
		).Scale(4).Shift(-2),
	}
	is := func(l layer) func(site) layer { return func(site) layer { return l } }
	return []example[T]{
		{"linear", "x 8 5, weight 5 6, bias 1 6, lora_d 5 2, lora_u 2 6", func(at site) layer { return at.Linear() }},
		{
			"packed", "x 8 5, weight 5 22, q.lora_d 5 2, q.lora_u 2 8, v.lora_d 5 3, v.lora_u 3 6",
			func(at site) layer { return at.Packed(qk, qk) },
		},
		{"layernorm", "x 8 5, weight 1 5, bias 1 5", func(at site) layer { return at.LayerNorm() }},
		{"layernorm_sigma", "x 8 5, weight 1 5, bias 1 5", func(at site) layer { return at.LayerNormSigma() }},
		{"layernorm_plain", "x 8 5", func(at site) layer { return at.LayerNormPlain() }},
		{"rmsnorm", "x 8 5, weight 1 5", func(at site) layer { return at.RMSNorm() }},
		{"dyt", "x 8 5, alpha 1 1, weight 1 5, bias 1 5", func(at site) layer { return at.DyT() }},
		{"gelu", "x 8 5", is(hand.GELU[T]{})},
		{"gelu_tanh", "x 8 5", is(hand.GELUTanh[T]{})},
		{"relu", "x 8 5", is(hand.ReLU[T]{})},
		{"sigmoid", "x 8 5", is(hand.Sigmoid[T]{})},
		{"soft cap", "x 8 5", is(hand.SoftCap[T]{Cap: 0.7})},
		{"relu2", "x 8 5", is(hand.ReLU2[T]{})},
		{"silu", "x 8 5", is(hand.SiLU[T]{})},
		{"softplus", "x 8 5", is(hand.Softplus[T]{})},
		{"mean of tokens", "x 8 5", is(hand.MeanTokens[T]{Batch: batch})},
		{"one token", "x 4 5", is(hand.GatherTokens[T]{At: []int{2}})},
		{"one token of each", "x 8 5", is(hand.GatherTokens[T]{At: []int{3, 1}})},
		{"elu plus one", "x 8 5", is(hand.EluPlusOne[T]{})},
		{"taylor features", "x 8 5", is(hand.TaylorFeatures[T]{Eps: 0.1})},
		{"dropout", "x 8 5", func(at site) layer { return at.Drop("dropout") }},
		{"mlp", "x 8 5, " + mlpShapes, func(at site) layer { return at.MLP(hand.GELU[T]{}) }},
		{
			"swiglu", "x 8 5, c_gate.weight 5 7, c_gate.bias 1 7, " + mlpShapes,
			func(at site) layer { return at.GLU(hand.SiLU[T]{}) },
		},
		{
			"reglu", "x 8 5, c_gate.weight 5 7, c_gate.bias 1 7, " + mlpShapes,
			func(at site) layer { return at.GLU(hand.ReLU[T]{}) },
		},
		{"swiglu, adapted", "x 8 5, c_gate.weight 5 7, c_gate.lora_d 5 2, c_gate.lora_u 2 7, c_fc.weight 5 7, " +
			"c_proj.weight 7 5",
			func(at site) layer { return at.GLU(hand.SiLU[T]{}) }},
		{"clamped mixture " +
			"of experts", "x 8 5, router.weight 5 1, router.bias 1 1, experts.0.c_gate.weight 5 7, " +
			"experts.0.c_gate.bias 1 7, experts.0.c_fc.weight 5 7, experts.0.c_fc.bias 1 7, experts.0.c_proj.weight " +
			"7 5, experts.0.c_proj.bias 1 5",
			func(at site) layer { return at.ClampedMoE(hand.Routing[T]{K: 1}, 0.6) }},
		{"mixture of experts", "x 8 5, router.weight 5 2, experts.0.c_gate.weight 5 7, experts.0.c_fc.weight 5 7, " +
			"experts.0.c_proj.weight 7 5, experts.1.c_gate.weight 5 7, experts.1.c_fc.weight 5 7, " +
			"experts.1.c_proj.weight 7 5",
			func(at site) layer { return at.MoE(hand.Routing[T]{K: 1, Norm: true}) }},
		{"gates", "x 8 5", is(hand.Routing[T]{K: 2, Sigmoid: true, Norm: true})},
		{"balanced experts", "x 8 5", is(hand.SwitchLoss[T]{Routing: hand.Routing[T]{K: 2, Sigmoid: true}})},
		{
			"tied", "x 8 5, wte.weight 7 5",
			func(at site) layer { return hand.Tied[T]{Embedding: at.At("wte").Param("weight")} },
		},
		{"learned positions", "x 8 5, weight 6 5", func(at site) layer {
			return hand.LearnedPositions[T]{Weight: at.Param("weight"), Positions: hand.Positions(batch, n)}
		}},
		{
			"sinusoidal", "x 8 6",
			is(hand.Sinusoidal[T]{Waves: hand.Sinusoids(n, 6, 100), Positions: hand.Positions(batch, n)}),
		},
		{"rope", "x 8 12", is(rope)},
		{
			"rope, partial", "x 8 8",
			is(hand.RoPE[T]{Positions: hand.Positions(batch, n), Size: 4, RotaryDim: 2, Theta: 10}),
		},
		{"rope by llama3", "x 8 12", is(scaled(hand.RotaryScaling{Kind: "llama3", Factor: 3, Original: 9}))},
		{"rope by yarn", "x 8 12", is(scaled(hand.RotaryScaling{Kind: "yarn", Factor: 3, Original: 20}))},
		{
			"rope by yarn, not rounded", "x 8 12",
			is(scaled(hand.RotaryScaling{Kind: "yarn", Factor: 3, Original: 90, Fast: 20, Slow: 0.7, Unrounded: true})),
		},
		{"smear", "x 8 5, smear.weight 1 3, smear.lambda 1 1", func(at hand.Site[T]) hand.Layer[T] {
			at = at.At("smear")
			return shifted[T]{hand.Smear[T]{Weight: at.Param("weight"), Lambda: at.Param("lambda"), Length: n}}
		}},
		{"short convolution", "x 8 5, weight 1 15", func(at hand.Site[T]) hand.Layer[T] {
			return hand.Residual[T]{Layer: hand.ShortConv[T]{Weight: at.Param("weight"), Length: n}}
		}},
		{"gated linear " +
			"attention", "x 8 5, c_decay.down.weight 5 3, c_decay.up.weight 3 8, c_decay.up.bias 1 8, norm.weight 1 " +
			"3, c_gate.weight 5 6, " + attentionShapes,
			func(at site) layer { return at.GLA(batch, heads, qk) }},
		{
			"retention", "x 8 5, norm.weight 1 3, c_gate.weight 5 6, " + attentionShapes,
			func(at site) layer { return at.RetNet(batch, heads, qk, rope) },
		},
		{"delta rule", "x 8 5, c_attn.conv.weight 1 88, c_beta.weight 5 2, norm.weight 1 3, c_gate.weight 5 6, " +
			attentionShapes,
			func(at site) layer { return at.DeltaNet(batch, heads, qk, n, nil) }},
		{"delta rule with negative " +
			"eigenvalues", "x 8 5, c_attn.conv.weight 1 88, c_beta.weight 5 2, norm.weight 1 3, c_gate.weight 5 6, " +
			attentionShapes,
			func(at site) layer { return at.DeltaNetNegEigval(batch, heads, qk, n, nil) }},
		{"Kimi delta " +
			"attention", "x 8 5, c_attn.conv.weight 1 88, c_decay.down.weight 5 3, c_decay.up.weight 3 8, " +
			"c_decay.up.bias 1 8, c_decay.a_log 1 2, c_beta.weight 5 2, norm.weight 1 3, c_gate.down.weight 5 3, " +
			"c_gate.up.weight 3 6, " + attentionShapes,
			func(at site) layer { return at.KDA(batch, heads, qk, n) }},
		{"Mamba-2", "x 8 5, c_attn.weight 5 14, c_attn.bias 1 14, c_attn.conv.weight 1 56, c_decay.weight 5 2, " +
			"c_decay.bias 1 2, c_decay.a_log 1 2, d_skip 1 2, norm.weight 1 6, c_gate.weight 5 6, c_proj.weight 6 " +
			"5, c_proj.bias 1 5",
			func(at site) layer { return at.Mamba2(batch, heads, 1, qk, n, rope) }},
		{"minimal GRU", "x 8 5, c_decay.weight 5 6, c_decay.bias 1 6, c_update.weight 5 6, c_update.bias 1 6, " +
			"c_proj.weight 6 5, c_proj.bias 1 5",
			func(at site) layer { return at.MinGRU(batch) }},
		{"real-gated linear " +
			"recurrent unit", "x 8 5, c_attn.weight 5 6, c_attn.bias 1 6, c_attn.conv.weight 1 24, c_decay.weight 6 " +
			"6, c_decay.bias 1 6, c_decay.lambda 1 6, c_update.weight 6 6, c_update.bias 1 6, c_gate.weight 5 6, " +
			"c_proj.weight 6 5, c_proj.bias 1 5",
			func(at site) layer { return at.RGLRU(batch, n) }},
		{"gated delta rule", "x 8 5, c_attn.conv.weight 1 88, c_decay.weight 5 2, c_decay.bias 1 2, c_decay.a_log 1 " +
			"2, c_beta.weight 5 2, norm.weight 1 3, c_gate.weight 5 6, " + attentionShapes,
			func(at site) layer { return at.GatedDeltaNet(batch, heads, qk, n, rope) }},
		{"gated delta rule with negative " +
			"eigenvalues", "x 8 5, c_attn.conv.weight 1 88, c_decay.weight 5 2, c_decay.bias 1 2, c_decay.a_log 1 " +
			"2, c_beta.weight 5 2, norm.weight 1 3, c_gate.weight 5 6, " + attentionShapes,
			func(at site) layer { return at.GatedDeltaNetNegEigval(batch, heads, qk, n, rope) }},
		{"rope, pairs", "x 8 4", is(hand.RoPE[T]{Positions: hand.Positions(batch, n), Size: 2, Theta: 10})},
		{"attention", "x 8 22", alone(func(b, h int) hand.Head[T] {
			return hand.Attention[T]{
				Mask: causal, Drop: hand.Dropout[T]{Mask: dropout("attn_dropout")}.Head(b, h, heads, n),
			}
		})},
		{
			"flash", "x 8 22",
			alone(func(_, _ int) hand.Head[T] { return hand.Flash[T]{Mask: causal, Queries: 3, Keys: 2} }),
		},
		{"flash, no mask", "x 8 22", alone(func(_, _ int) hand.Head[T] { return hand.Flash[T]{Queries: 2, Keys: 3} })},
		{"flash, blind query", "x 8 22", alone(func(_, _ int) hand.Head[T] {
			return hand.Flash[T]{Mask: hand.Except(causal, hand.WindowMask(n, 2)), Queries: 1, Keys: 1}
		})},
		{"sigmoid attention", "x 8 22", alone(func(b, h int) hand.Head[T] {
			return hand.SigmoidAttention[T]{
				Mask: causal, Drop: hand.Dropout[T]{Mask: dropout("attn_dropout")}.Head(b, h, heads, n),
			}
		})},
		{
			"sigmoid attention, no mask", "x 8 22",
			alone(func(_, _ int) hand.Head[T] { return hand.SigmoidAttention[T]{} }),
		},
		{"sigmoid attention, blind query", "x 8 22", alone(func(_, _ int) hand.Head[T] {
			return hand.SigmoidAttention[T]{Mask: hand.Except(causal, hand.WindowMask(n, 2))}
		})},
		{"differential " +
			"attention", "x 8 5, lambda_q1 1 4, lambda_k1 1 4, lambda_q2 1 4, lambda_k2 1 4, norm.weight 1 6, " +
			"c_attn.weight 5 22, c_attn.bias 1 22, c_proj.weight 6 5, ", func(at site) layer {
			return at.DiffAttention(attend(at, causal), 8, nil, at.Difference(1, 1))
		}},
		{"attention that forgets", "x 8 5, c_forget.weight 5 2, c_forget.bias 1 2, " + attentionShapes,
			func(at site) layer {
				heads := attend(at, causal)
				heads.Head = func(b, h int) hand.Head[T] {
					return hand.ForgettingAttention[T]{
						Mask: causal, Drop: hand.Dropout[T]{Mask: dropout("attn_dropout")}.Head(b, h, heads.Count, n),
					}
				}
				return at.SelfAttention(heads, qk, nil)
			}},
		{"linear attention", "x 8 22", linear(hand.EluPlusOne[T]{}, causal.Exp())},
		{"linear attention, all keys", "x 8 22", linear(hand.TaylorFeatures[T]{Eps: 0.1}, hand.Matrix[float64]{})},
		{
			"linear scan", "x 8 22",
			alone(func(_, _ int) hand.Head[T] { return hand.LinearScan[T]{Features: hand.EluPlusOne[T]{}} }),
		},
		{"self-attention", "x 8 5, c_attn.k.lora_d 5 2, c_attn.k.lora_u 2 8, " + attentionShapes, func(at site) layer {
			return at.SelfAttention(attend(at, causal), qk, nil)
		}},
		{"self-attention, normed", "x 8 5, q_norm.weight 1 4, k_norm.weight 1 8, " + attentionShapes,
			func(at site) layer {
				return at.SelfAttention(attend(at, causal), qk, nil)
			}},
		{"self-attention, gated", "x 8 5, c_gate.weight 5 2, c_gate.bias 1 2, " + attentionShapes, func(at site) layer {
			return at.SelfAttention(attend(at, causal), qk, nil)
		}},
		{"self-attention, exclusive", "x 8 5, xsa_lambda 1 2, " + attentionShapes, func(at site) layer {
			at.Links = exclusive[T]
			return at.SelfAttention(attend(at, causal), qk, nil)
		}},
		{"self-attention in two groups, exclusive", "x 8 5, c_attn.weight 5 22, c_attn.bias 1 22, c_proj.weight 20 5, ",
			func(at site) layer {
				at.Links = exclusive[T]
				l := attend(at, causal)
				l.Count, l.Groups, l.Head = 4, 2, func(_, _ int) hand.Head[T] { return hand.Attention[T]{Mask: causal} }
				return at.SelfAttention(l, 8, nil)
			}},
		{"self-attention, sinks", "x 8 5, sinks 1 2, " + attentionShapes, func(at site) layer {
			heads := attend(at, causal)
			head := heads.Head
			heads.Head = func(b, h int) hand.Head[T] {
				a := head(b, h).(hand.Attention[T])
				a.Sink = at.Param("sinks").Columns(h, h+1)
				return a
			}
			return at.SelfAttention(heads, qk, nil)
		}},
		{"self-attention, one head", "x 3 5, c_attn.weight 5 22, c_attn.bias 1 22, c_proj.weight 6 5, ",
			func(at site) layer {
				all := [][]hand.Head[T]{{hand.Attention[T]{}}}
				heads := hand.Heads[T]{Batch: 1, Count: 1, Head: func(b, h int) hand.Head[T] { return all[b][h] }}
				at.Dropout = nil // of eight tokens
				return at.SelfAttention(heads, qk, nil)
			}},
		{"self-attention in " +
			"two groups", "x 8 5, c_attn.k.lora_d 5 2, c_attn.k.lora_u 2 4, c_attn.weight 5 22, c_attn.bias 1 22, " +
			"c_proj.weight 20 5, ", func(at site) layer {
			l := attend(at, causal)
			l.Count, l.Groups, l.Head = 4, 2, func(_, _ int) hand.Head[T] { return hand.Attention[T]{Mask: causal} }
			return at.SelfAttention(l, 8, nil)
		}},
		{
			"self-attention, rotary", "x 8 5, " + attentionShapes,
			func(at site) layer { return at.SelfAttention(attend(at, causal), qk, rope) },
		},
		{"self-attention, linear", "x 8 5, " + attentionShapes, func(at site) layer {
			return at.SelfAttention(hand.Heads[T]{Batch: batch, Count: heads, Head: func(_, _ int) hand.Head[T] {
				return hand.LinearScan[T]{Features: hand.EluPlusOne[T]{}}
			}}, qk, nil)
		}},
		{"self-attention, flash", "x 8 5, " + attentionShapes, func(at site) layer {
			return at.SelfAttention(hand.Heads[T]{Batch: batch, Count: heads, Head: func(_, _ int) hand.Head[T] {
				return hand.Flash[T]{Mask: causal, Queries: 2, Keys: 2}
			}}, qk, nil)
		}},
		{"cross-attention", "x 8 5, z 6 5, c_kv.lora_d 5 2, c_kv.lora_u 2 14, " + crossShapes, cross},
		{"unprojected", "x 8 6", func(at site) layer { return hand.Unprojected[T]{Heads: attend(at, causal)} }},
		{"unprojected, to others", "x 8 6, z 6 6", func(at site) layer {
			return hand.Unprojected[T]{Z: at.Param("z"), Heads: attend(site{}, hand.Matrix[float64]{})}
		}},
		{
			"linformer", "x 8 5, e.weight 3 4, f.weight 3 4, " + attentionShapes,
			func(at site) layer { return at.Linformer(batch, heads, qk) },
		},
		{
			"longformer", "x 8 5, c_attn_global.weight 5 22, c_attn_global.bias 1 22, " + attentionShapes,
			func(at site) layer { return global(at, nil) },
		},
		{
			"longformer, rotary", "x 8 5, c_attn_global.weight 5 22, " + attentionShapes,
			func(at site) layer { return global(at, rope) },
		},
		{
			"mla", "x 8 5, c_q.weight 5 8, c_q.bias 1 8, " + latentShapes,
			func(at site) layer { return at.MLA(attend(at, causal)) },
		},
		{"mla, absorbed", "x 8 5, c_q.weight 5 8, " + latentShapes, func(at site) layer {
			return hand.MLAAbsorbed[T]{
				Wq: at.Param("c_q.weight"), Down: at.Param("c_kv_down.weight"), UpK: at.Param("c_k_up.weight"),
				UpV: at.Param("c_v_up.weight"),
				Wo:  at.Param("c_proj.weight"), Bo: at.Optional("c_proj.bias"), Batch: batch, Heads: heads,
				Mask: causal,
			}
		}},
		{
			"mla, rotary", "x 8 5, c_k_rope.weight 5 4, " + ropeShapes,
			func(at site) layer { return at.MLARoPE(attend(at, causal), rope, false) },
		},
		{"mla, rotary, from the latent", "x 8 5, c_k_rope.weight 3 4, " + ropeShapes, func(at site) layer {
			return at.MLARoPE(attend(at, causal), rope, true)
		}},
		{"mla, rotary, " +
			"three heads", "x 8 5, c_q_down.weight 5 7, c_q_up.weight 7 6, c_q_rope.weight 7 12, c_kv_down.weight 5 " +
			"2, c_k_up.weight 2 6, c_v_up.weight 2 6, c_proj.weight 6 5, c_k_rope.weight 5 4, ", func(at site) layer {
			return at.MLARoPE(
				hand.Heads[T]{Batch: batch, Count: 3, Head: func(_, _ int) hand.Head[T] { return hand.Attention[T]{} }},
				rope, false,
			)
		}},
		{"linear between factors", "x 8 5, weight 5 6, bias 1 6", func(at site) layer {
			return hand.Scaled[T]{Layer: at.Linear(), In: 0.3, Out: 1.7}
		}},
		{"self-attention, factor on queries", "x 8 5, " + attentionShapes, func(at site) layer {
			at.Queries = 0.6
			return at.SelfAttention(attend(at, causal), qk, nil)
		}},
		{"block", "x 8 5, " + blockShapes, func(at site) layer { return block(at) }},
		{"block, post", "x 8 5, " + blockShapes, func(at site) layer { return hand.PostNormBlock[T](block(at)) }},
		{"block, post-part", "x 8 5, " + blockShapes, func(at site) layer { return hand.PostPartBlock[T](block(at)) }},
		{"block, sandwich", "x 8 5, ln_1_post.weight 1 5, ln_2_post.weight 1 5, " + blockShapes, func(at site) layer {
			b := block(at)
			return hand.SandwichBlock[T]{
				b.Norm1, b.Attention, at.At("ln_1_post").LayerNorm(), b.Norm2, b.MLP, at.At("ln_2_post").LayerNorm(),
				nil,
			}
		}},
		{"block, parallel", "x 8 5, " + strings.Replace(blockShapes, "ln_2.weight 1 5, ", "", 1), func(at site) layer {
			b := block(at)
			return hand.ParallelBlock[T]{b.Norm1, b.Attention, b.MLP, nil}
		}},
		{
			"block, parallel, two norms", "x 8 5, " + blockShapes,
			func(at site) layer { return hand.ParallelTwoBlock[T](block(at)) },
		},
		{"stack", "x 7 5, h.0.c_attn.weight 5 22, h.0.c_proj.weight 6 5, h.1.c_attn.weight 5 22, h.1.c_proj.weight " +
			"6 5, h.1.v_lambda 1 2, h.1.skip_lambda 1 2, h.2.c_fc.weight 5 7, h.2.c_proj.weight 7 5, " +
			"h.3.c_fc.weight 5 7, h.3.c_proj.weight 7 5, ln_f.weight 1 5, ",
			func(at site) layer {
				at.Values = new(hand.FirstValues[T])
				s := hand.Stack[T]{Norm: at.At("ln_f").LayerNorm()}
				for _, name := range []string{"h.0", "h.1"} {
					s.Blocks = append(
						s.Blocks, hand.Residual[T]{Layer: at.At(name).SelfAttention(attend(at, causal), qk, nil)},
					)
				}
				s.Stream.Skips = []hand.Chain[T]{
					{hand.Keep[T]("x", "x_0")},
					{hand.Skip[T]{Name: "h.1", Lambda: at.At("h.1").Param("skip_lambda"), From: "x_0"}},
				}
				for _, name := range []string{"h.2", "h.3"} {
					s.Future = append(s.Future, at.At(name).MLP(hand.GELU[T]{}))
				}
				return embedded[T]{s}
			}},
		{"decoder block", "x 8 5, " + decoderShapes, func(at site) layer {
			b := block(at)
			return hand.DecoderBlock[T]{
				b.Norm1, b.Attention, at.At("ln_cross").LayerNorm(), cross(at.At("cross")), b.Norm2, b.MLP, nil,
			}
		}},
		{"decoder block, post", "x 8 5, " + decoderShapes, func(at site) layer {
			b := block(at)
			return hand.PostNormDecoderBlock[T]{
				b.Norm1, b.Attention, at.At("ln_cross").LayerNorm(), cross(at.At("cross")), b.Norm2, b.MLP, nil,
			}
		}},
		{
			"elman", "x 8 5, c_input.weight 5 5, c_input.bias 1 5, weight 5 5",
			func(at site) layer { return at.Elman(batch) },
		},
		{"elman, one sequence", "x 3 5, c_input.weight 5 5, weight 5 5", func(at site) layer { return at.Elman(1) }},
		{"cross entropy", "x 8 7", is(hand.CrossEntropy[T]{Targets: targets})},
		{"cross entropy, regularised", "x 8 7", is(hand.CrossEntropy[T]{Targets: targets, Smoothing: 0.2, ZLoss: 0.3})},
		{"cross entropy, sum", "x 8 7", is(hand.CrossEntropy[T]{Targets: targets, Reduction: hand.Sum})},
		{
			"multi-token", "x 16 7",
			is(hand.MultiToken[T]{CrossEntropy: hand.CrossEntropy[T]{Targets: targets}, Heads: 2, Length: 4}),
		},
		{"reinforce", "x 8 7", is(hand.Reinforce[T]{Rollout: rollout})},
		{"ppo", "x 8 7", is(hand.PPO[T]{Rollout: rollout, Clip: 0.6})},
		{
			"grpo", "x 8 7",
			is(
				hand.GRPO[T]{
					PPO: hand.PPO[T]{Rollout: rollout, Clip: 0.6}, Beta: 0.3, Reference: rollout.LogProbs.Scale(0.8),
				},
			),
		},
		{"dpo", "x 8 7", is(hand.DPO[T]{Targets: targets, Reference: fixture.Random("reference", 4, 1), Beta: 0.4})},
		{"squared error", "x 8 3, y 8 3", func(at site) layer { return hand.SquaredError[T]{Y: at.Param("y")} }},
		{
			"binary cross entropy", "x 8 3, y 8 3",
			func(at site) layer { return hand.BinaryCrossEntropy[T]{Y: at.Param("y")} },
		},
		{"value loss", "x 8 1", is(hand.ValueLoss[T]{Returns: rollout.Advantages, Weights: rollout.Weights})},
	}
}

// exclusive returns the link of exclusive self-attention.
func exclusive[T hand.Number](at hand.Site[T], heads hand.Heads[T], value string) hand.Chain[T] {
	return hand.Chain[T]{hand.XSA[T]{Heads: heads, Value: value, Lambda: at.Optional("xsa_lambda")}}
}

// embedded applies a stack to tokens that its input embeds.
type embedded[T hand.Number] struct{ hand.Stack[T] }

func (l embedded[T]) tokens() []int { return []int{3, 0, 6, 3, 1, 5, 2, 0} }

func (l embedded[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] {
	l.Embeddings = hand.Embeddings[T]{
		hand.Tokens[T]{Weight: x, Scale: 1.3}, hand.Embedded[T]{Name: "drop", Layer: hand.Dropout[T]{}},
	}
	return l.Stack.Forward(l.tokens())
}

func (l embedded[T]) Backward(x, delta hand.Matrix[T]) (dx hand.Matrix[T], g hand.Gradients[T]) {
	l.Embeddings = hand.Embeddings[T]{
		hand.Tokens[T]{Weight: x, Scale: 1.3}, hand.Embedded[T]{Name: "drop", Layer: hand.Dropout[T]{}},
	}
	for _, of := range l.Stack.Backward(l.tokens(), delta) {
		if of.Name == "wte.weight" {
			dx = of.Value
		} else {
			g = append(g, of)
		}
	}
	return dx, g
}

// shifted is an Embedder without ids as a layer.
type shifted[T hand.Number] struct{ hand.Embedder[T] }

func (l shifted[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] { return l.Embedder.Forward(nil, x) }

func (l shifted[T]) Backward(x, delta hand.Matrix[T]) (dx hand.Matrix[T], g hand.Gradients[T]) {
	return l.Embedder.Backward(nil, x, delta)
}

// split applies heads to queries, keys and values that are the columns of its input.
type split[T hand.Number] struct{ hand.Heads[T] }

func (l split[T]) parts(x hand.Matrix[T]) (q, k, v hand.Matrix[T]) {
	return x.Columns(0, qk), x.Columns(qk, 2*qk), x.Columns(2*qk, x.Cols)
}

func (l split[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] { return l.Heads.Forward(l.parts(x)) }

func (l split[T]) Backward(x, delta hand.Matrix[T]) (dx hand.Matrix[T], g hand.Gradients[T]) {
	q, k, v := l.parts(x)
	return hand.Join(l.Heads.Backward(q, k, v, delta)), nil
}

// place returns the site of the layers below.
func place[T hand.Number](p hand.Parameters[T]) hand.Site[T] {
	return hand.Site[T]{Parameters: p, Eps: 0.1, LoRAScale: 1.5, Dropout: func(path string) hand.Matrix[float64] {
		_, linformer := p["e.weight"]
		_, cross := p["c_kv.weight"]
		if (linformer || cross) && path == "attn_dropout" {
			return dropout("attn_dropout narrow")
		}
		return dropout(path)
	}}
}

// dropout drops about every third number.
func dropout(path string) hand.Matrix[float64] {
	rows, cols := batch*n, 5
	switch {
	case strings.HasSuffix(path, "attn_dropout"):
		rows, cols = batch*heads*n, n
		if strings.Contains(path, "cross") {
			cols = 3
		}
	case path == "attn_dropout wide":
		rows, cols = n, 2*n
	case path == "attn_dropout narrow":
		rows, cols = batch*heads*n, 3
	}
	return fixture.Random(path, rows, cols).Shift(0.2).Step().Scale(1 / 0.7)
}

// fingerprint returns a number that depends on every entry. Differences due to rounding alone count as 0.
func fingerprint(m hand.Matrix[float64]) (sum float64) {
	for i, v := range m.Data {
		sum += v * math.Sin(float64(i+1))
	}
	if math.Abs(sum) < 1e-12 {
		return 0
	}
	return sum
}

// Without ε the norm does not depend on a token's size: for c > 0 the norm of c·x is the norm of x, and Δ comes back c
// times smaller, with no part along x. With ε the share ε/rms² of the part along x̂ remains.
func TestI64Scale(t *testing.T) {
	x, w, delta := fixture.Random("x", 5, 8), fixture.Random("w", 1, 8).Shift(1), fixture.Random("Δ", 5, 8)
	exact, l := hand.RMSNorm[float64]{Weight: w}, hand.RMSNorm[float64]{Weight: w, Eps: 0.01}
	equal(t, "y of 3x", exact.Forward(x.Scale(3)), exact.Forward(x))
	dx, g := exact.Backward(x, delta)
	far, farG := exact.Backward(x.Scale(3), delta)
	equal(t, "Δ of 3x", far.Scale(3), dx)
	equal(t, "∂w of 3x", farG[0].Value, g[0].Value)
	equal(t, "Δ along x", dx.Mul(x).Sum().Shift(1), hand.Zeros[float64](5, 1).Shift(1))

	dx, _ = l.Backward(x, delta)
	square := x.Square().Mean().Shift(0.01) // rms²
	came := delta.Mul(w).Mul(x).Sum().Div(square.Sqrt())
	equal(t, "Δ along x with ε", dx.Mul(x).Sum(), came.Div(square).Scale(0.01))
}

// Without biases the layer is linear in w_u and in w_d, so by Euler ⟨∂w_u, w_u⟩ = ⟨∂w_d, w_d⟩ = ⟨Δ, y⟩; and it is
// bilinear, except for the gate's bend: ⟨Δx, x⟩ = ⟨∂w_g, w_g⟩ + ⟨∂w_u, w_u⟩.
func TestI65Linear(t *testing.T) {
	p := hand.Parameters[float64]{
		"c_gate.weight": fixture.Random("w_g", 5, 7), "c_fc.weight": fixture.Random("w_u", 5, 7),
		"c_proj.weight": fixture.Random("w_d", 7, 5),
	}
	l := hand.Site[float64]{Parameters: p}.GLU(hand.SiLU[float64]{})
	x, delta := fixture.Random("x", 4, 5).Scale(3), fixture.Random("Δ", 4, 5)
	dx, gradients := l.Backward(x, delta)
	dot := func(a, b hand.Matrix[float64]) float64 { return a.Mul(b).SumTokens().Sum().At(0, 0) }
	of := map[string]float64{}
	for name, g := range gradients.Parameters() {
		of[name] = dot(g, p[name])
	}
	want := dot(delta, l.Forward(x))
	for name, got := range map[string]float64{
		"w_u": of["c_fc.weight"], "w_d": of["c_proj.weight"], "x": dot(dx, x) - of["c_gate.weight"],
	} {
		if !(math.Abs(got-want) <= 1e-14) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// The Δ that enters a gated MLP is a sum over two ways, and its equation states that in both kinds of block.
func TestDeltaIntoAGatedMLP(t *testing.T) {
	x, norm := fixture.Random("x", 4, 5), hand.RMSNorm[float64]{Weight: fixture.Random("w", 1, 5)}
	for want, mlp := range map[string]hand.Layer[float64]{
		"Δ_g w_gᵗ + Δ_u w_uᵗ": hand.GLU[float64]{Gate: norm, Act: norm, Fc: norm, Proj: norm},
		"Δ₇ w₆ᵗ":              hand.MLP[float64]{Fc: norm, Act: norm, Proj: norm},
	} {
		_, pre := hand.Block[float64]{Norm1: norm, Attention: norm, Norm2: norm, MLP: mlp}.Backward(x, x)
		_, post := hand.PostNormBlock[float64]{Norm1: norm, Attention: norm, Norm2: norm, MLP: mlp}.Backward(x, x)
		for _, c := range []struct {
			of         hand.Gradients[float64]
			name, want string
		}{{pre, "ln_2", "Δ₆ = " + want}, {post, "ln_1", "Δ₅ = LNᵇ(Δ₁₀) + " + want}} {
			i := slices.IndexFunc(c.of, func(g hand.Gradient[float64]) bool { return g.Delta && g.Name == c.name })
			if i < 0 || c.of[i].Equation != c.want {
				t.Errorf("%T: got %+v, want %s", mlp, c.of, c.want)
			}
		}
	}
}

func equal(t *testing.T, what string, got, want hand.Matrix[float64]) {
	t.Helper()
	if got.Err != nil || len(got.Data) != len(want.Data) {
		t.Fatalf("%s: got (%d, %d), %v, want (%d, %d)", what, got.Rows, got.Cols, got.Err, want.Rows, want.Cols)
	}
	for i, w := range want.Data {
		if !(math.Abs(got.Data[i]-w) <= 1e-14*max(1, math.Abs(w))) {
			t.Errorf("%s, entry %d: got %v, want %v", what, i, got.Data[i], w)
		}
	}
}

// If e^x overflows, the activations of the logistic function, their derivatives and the loss built of them have their
// limits as values: no formula overflows.
func TestLogisticFarFromZero(t *testing.T) {
	x, one := hand.NewMatrix(1, 3, -1000, 0, 1000.), hand.NewMatrix(1, 3, 1, 1, 1.)
	for name, c := range map[string]struct {
		layer    hand.Layer[float64]
		y, slope []float64
	}{
		"sigmoid":  {hand.Sigmoid[float64]{}, []float64{0, 0.5, 1}, []float64{0, 0.25, 0}},
		"silu":     {hand.SiLU[float64]{}, []float64{0, 0, 1000}, []float64{0, 0.5, 1}},
		"softplus": {hand.Softplus[float64]{}, []float64{0, math.Ln2, 1000}, []float64{0, 0.5, 1}},
		"binary cross entropy": {
			hand.BinaryCrossEntropy[float64]{Y: one}, []float64{(1000 + math.Ln2) / 3}, []float64{-1. / 3, -0.5 / 3, 0},
		},
	} {
		y := c.layer.Forward(x)
		dx, _ := c.layer.Backward(x, hand.NewMatrix(1, len(c.y), one.Data[:len(c.y)]...))
		for what, pair := range map[string][2][]float64{"y": {y.Data, c.y}, "Δx": {dx.Data, c.slope}} {
			for i, want := range pair[1] {
				if got := pair[0][i]; !(math.Abs(got-want) <= 1e-15*max(1, want)) {
					t.Errorf("%s: %s[%d] is %v, want %v", name, what, i, got, want)
				}
			}
		}
	}
}
