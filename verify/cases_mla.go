package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The widths of the latents, for keys and values and for queries.
const (
	fixtureLatent      = 4
	fixtureQueryLatent = 7
)

func mlaCases() []Case {
	return []Case{
		mlaCase("latent attention", "Xu (37)–(46), (57)", MLAForward[complex128], MLABackward[float64]),
		mlaCase("latent attention, absorbed by hand", "Xu (40), (41), (46), (57)", MLAAbsorbedForward[complex128], MLAAbsorbedBackward[float64]),
		mlaRoPECase("latent attention with rotary positions", "MLARoPE", "Xu (60)–(68), erratum X5", func(at nn.Site) nn.Layer {
			return nn.NewMLARoPE(at, fixtureLatent, fixtureQueryLatent, fixtureRotary, fixtureTheta)
		}, MLARoPEForward[complex128], MLARoPEBackward[float64]),
		mlaRoPECase("latent attention with rotary positions of the latent", "MLALatentRoPE", "Xu (60)–(68)", func(at nn.Site) nn.Layer {
			return nn.NewMLALatentRoPE(at, fixtureLatent, fixtureQueryLatent, fixtureRotary, fixtureTheta)
		}, MLARoPELatentForward[complex128], MLARoPELatentBackward[float64]),
	}
}

func caseHeads() MultiHead {
	causal := CausalMask(fixtureTokens)
	return MultiHead{Batch: fixtureBatch, Heads: fixtureHeads, QK: fixtureQK, Masks: []Matrix[float64]{causal, causal}}
}

func mlaCase(
	name, source string,
	forward func(Matrix[complex128], MLA[complex128], MultiHead) Matrix[complex128],
	backward func(Matrix[float64], MLA[float64], MultiHead, Matrix[float64]) (Matrix[float64], MLA[float64]),
) Case {
	return Case{
		ID: "I41", Name: name, Types: []string{"MLA"}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewMLA(at.At("attn"), fixtureLatent).Forward(x) },
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return forward(p[input], mlaOf(p), caseHeads())
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			dx, g := backward(p[input], mlaOf(p), caseHeads(), delta)
			return Parameters[float64]{
				input: dx, "attn.c_q.weight": g.Wq, "attn.c_kv_down.weight": g.Down, "attn.c_k_up.weight": g.UpK,
				"attn.c_v_up.weight": g.UpV, "attn.c_proj.weight": g.Wo, "attn.c_proj.bias": g.Bo,
			}
		},
	}
}

func mlaOf[T Number](p Parameters[T]) MLA[T] {
	return MLA[T]{
		Wq: p["attn.c_q.weight"], Down: p["attn.c_kv_down.weight"], UpK: p["attn.c_k_up.weight"],
		UpV: p["attn.c_v_up.weight"], Wo: p["attn.c_proj.weight"], Bo: p["attn.c_proj.bias"],
	}
}

func mlaRoPECase(
	name, kind, source string, build func(at nn.Site) nn.Layer,
	forward func(Matrix[complex128], MLARoPE[complex128], MultiHead, Rotary) Matrix[complex128],
	backward func(Matrix[float64], MLARoPE[float64], MultiHead, Rotary, Matrix[float64]) (Matrix[float64], MLARoPE[float64]),
) Case {
	return Case{
		ID: "I42", Name: name, Types: []string{kind}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr { return build(withPositions(at).At("attn")).Forward(x) },
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return forward(p[input], mlaRoPEOf(p), caseHeads(), caseRotary(0))
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			dx, g := backward(p[input], mlaRoPEOf(p), caseHeads(), caseRotary(0), delta)
			return Parameters[float64]{
				input: dx, "attn.c_q_down.weight": g.DownQ, "attn.c_q_up.weight": g.UpQ, "attn.c_q_rope.weight": g.TurnQ,
				"attn.c_kv_down.weight": g.Down, "attn.c_k_up.weight": g.UpK, "attn.c_k_rope.weight": g.TurnK,
				"attn.c_v_up.weight": g.UpV, "attn.c_proj.weight": g.Wo, "attn.c_proj.bias": g.Bo,
			}
		},
	}
}

func mlaRoPEOf[T Number](p Parameters[T]) MLARoPE[T] {
	return MLARoPE[T]{
		DownQ: p["attn.c_q_down.weight"], UpQ: p["attn.c_q_up.weight"], TurnQ: p["attn.c_q_rope.weight"],
		Down: p["attn.c_kv_down.weight"], UpK: p["attn.c_k_up.weight"], TurnK: p["attn.c_k_rope.weight"],
		UpV: p["attn.c_v_up.weight"], Wo: p["attn.c_proj.weight"], Bo: p["attn.c_proj.bias"],
	}
}
