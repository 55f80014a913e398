package cases

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

const latentSize = 4 // of keys and values

// latents returns the Case of latent attention whose formulas absorb the projections of keys and values.
func latents[T hand.Number](n fixture.Sizes) []entry[T] {
	return []entry[T]{{verify.Entry{ID: "I41"}, []formula[T]{{verify.Case{
		Name: "latent attention, absorbed by hand", Types: []string{"MLA"}, Source: "Xu (40), (41), (46), (57)",
		Layer: func(at nn.Site) nn.Layer { return nn.NewMLA(at.At("attn"), latentSize) },
	}, absorbed[T](n)}}}}
}

func absorbed[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at = at.At("attn")
		return sequence[T]{{"attn", hand.MLAAbsorbed[T]{
			Wq: at.Param("c_q.weight"), Down: at.Param("c_kv_down.weight"),
			UpK: at.Param("c_k_up.weight"), UpV: at.Param("c_v_up.weight"),
			Wo: at.Param("c_proj.weight"), Bo: at.Param("c_proj.bias"),
			Batch: n.Batch, Heads: n.Heads, Mask: hand.CausalMask(n.Tokens),
		}}}
	}
}
