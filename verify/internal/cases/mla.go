package cases

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// The widths of the latents, for keys and values and for queries.
const (
	latentSize      = 4
	latentQuerySize = 7
)

func latents() []verify.Entry {
	plain := func(at nn.Site) nn.Layer { return nn.NewMLA(at, latentSize) }
	rope := func(at nn.Site) nn.Layer {
		return nn.NewMLARoPE(at, latentSize, latentQuerySize, rotarySize, theta)
	}
	latentRope := func(at nn.Site) nn.Layer {
		return nn.NewMLALatentRoPE(at, latentSize, latentQuerySize, rotarySize, theta)
	}
	return []verify.Entry{
		{
			ID: "I41", What: "latent attention", Source: "Xu (37)–(46), (57), errata X6, X7",
			Cases: part("attention=mla",
				mla("latent attention", "MLA", "Xu (37)–(46), (57)", plain, latent[float64], latent[complex128]),
				mla("latent attention, absorbed by hand", "MLA", "Xu (40), (41), (46), (57)",
					plain, absorbed[float64], absorbed[complex128]),
			),
		},
		{
			ID: "I42", What: "latent attention with decoupled rotary positions", Source: "Xu (58)–(68), erratum X5",
			Cases: append(
				part("attention=mla_rope",
					mla("latent attention with rotary positions", "MLARoPE", "Xu (60)–(68), erratum X5",
						rope, decoupled[float64](false), decoupled[complex128](false))),
				part("attention=mla_latent_rope",
					mla("latent attention with rotary positions of the latent", "MLALatentRoPE", "Xu (60)–(68)",
						latentRope, decoupled[float64](true), decoupled[complex128](true)))...,
			),
		},
	}
}

func mla(name, kind, source string, library func(at nn.Site) nn.Layer,
	real layer[float64], step layer[complex128]) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{kind}, Source: source,
		Layer: func(at nn.Site) nn.Layer { return library(at.At("attn")) },
	}, real, step)
}

func latent[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	return sequence[T]{{"attn", at.At("attn").MLA(softmax(at, fixture.Heads, causal().mask))}}
}

func absorbed[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	at = at.At("attn")
	return sequence[T]{{"attn", hand.MLAAbsorbed[T]{
		Wq: at.Param("c_q.weight"), Down: at.Param("c_kv_down.weight"),
		UpK: at.Param("c_k_up.weight"), UpV: at.Param("c_v_up.weight"),
		Wo: at.Param("c_proj.weight"), Bo: at.Param("c_proj.bias"),
		Batch: fixture.Batch, Heads: fixture.Heads, Mask: hand.CausalMask(fixture.Tokens),
	}}}
}

func decoupled[T hand.Number](fromLatent bool) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		heads := softmax(at, fixture.Heads, causal().mask)
		return sequence[T]{{"attn", at.At("attn").MLARoPE(heads, rotary(at), fromLatent)}}
	}
}
