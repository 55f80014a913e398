package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func mla[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "mla", Type: "MLA",
		Hand: func(p Place[T]) hand.Layer[T] { return p.Site.MLA(softmax(p, causal)) },
		ID:   "I41", What: "latent attention", Source: "Xu (37)–(46), (57), errata X6, X7",
		Settings: []Setting{{
			Name: "latent attention", Source: "Xu (37)–(46), (57)", Options: map[string]int{"latent_size": 4},
		}},
	}
}

func mlaRoPE[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "mla_rope", Type: "MLARoPE", Hand: decoupled[T](false),
		ID: "I42", What: "latent attention with decoupled rotary positions", Source: "Xu (58)–(68), erratum X5",
		Settings: []Setting{{
			Name: "latent attention with rotary positions", Source: "Xu (60)–(68), erratum X5", Options: latentSizes(),
		}},
	}
}

func mlaLatentRoPE[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "mla_latent_rope", Type: "MLALatentRoPE", Hand: decoupled[T](true), ID: "I42",
		Settings: []Setting{{
			Name: "latent attention with rotary positions of the latent", Source: "Xu (60)–(68)",
			Options: latentSizes(),
		}},
	}
}

func latentSizes() map[string]int {
	return map[string]int{"latent_size": 4, "q_latent_size": 7, "rope_size": 4}
}

// decoupled returns latent attention with features that rotate, read from the latent or from the token.
func decoupled[T hand.Number](fromLatent bool) func(p Place[T]) hand.Layer[T] {
	return func(p Place[T]) hand.Layer[T] {
		size := p.Site.At("c_k_rope").Param("weight").Cols
		return p.Site.MLARoPE(softmax(p, causal), p.rotation(size), fromLatent)
	}
}
