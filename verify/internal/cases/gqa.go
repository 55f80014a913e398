package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

const groupedHeads = 6

func groupedAttentions() []verify.Entry {
	biased := sight{see: func(s graph.Scope, d nn.Dims) *nn.Mask {
		return nn.NewBiasedMask(s, d, nn.Causal{}, nn.NewALiBi(groupedHeads))
	}, mask: func(_, h int) matrix {
		return hand.CausalMask(fixture.Tokens).Add(hand.ALiBiMask(fixture.Tokens, h+1, groupedHeads))
	}, past: true}
	return []verify.Entry{{
		ID: "I66", What: "grouped-query and multi-query attention", Source: "Ainslie et al. 2023, Shazeer 2019",
		Cases: append(part("attention=gqa",
			grouped{
				name: "grouped attention, three groups", groups: 3, sight: causal(), bias: true, biases: true,
			}.Case(),
			grouped{
				name: "grouped attention with dropout", groups: 2, sight: causal(), bias: true, biases: true,
				dropout: probability,
			}.Case(),
			grouped{name: "grouped attention with linear biases", groups: 2, sight: biased}.Case(),
			grouped{name: "multi-query attention", groups: 1, sight: causal(), bias: true, biases: true}.Case(),
		), part("attention=gqa_bias",
			grouped{
				name: "grouped attention with biases on q, k, v alone", groups: 2, sight: causal(), bias: true,
			}.Case(),
			grouped{
				name: "grouped attention with rotary positions", groups: 3, sight: causal(), bias: true, rotary: true,
			}.Case(),
		)...),
	}}
}

// grouped describes a Case of attention whose heads share keys and values.
type grouped struct {
	name    string
	groups  int
	sight   sight
	bias    bool // of c_attn
	biases  bool // of the other layers
	rotary  bool
	dropout float64
}

// Case returns the Case.
func (a grouped) Case() verify.Case {
	c := verify.Case{Name: a.name, Types: []string{"GroupedAttention"}, Source: "Ainslie et al. 2023, Shazeer 2019"}
	c = a.sight.built(c, func(at nn.Site) nn.Layer {
		at.Heads, at.Dropout, at.Bias = groupedHeads, a.dropout, a.biases
		at.Mask = a.sight.see(at.Sub("own"), at.Dims)
		if a.rotary {
			at.QK = rotarySize
			at.Rotary = nn.NewRoPE(at.At("rope"), at.QK, theta)
		}
		return nn.NewGroupedAttention(at.At("attn"), a.groups, a.bias)
	})
	return byHand(c, sharing[float64](a), sharing[complex128](a))
}

func sharing[T hand.Number](a grouped) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at = drawing(at, a.dropout, groupedHeads, fixture.Tokens)
		heads := softmax(at, groupedHeads, a.sight.mask)
		heads.Groups = a.groups
		if a.rotary {
			return sequence[T]{{"attn", at.At("attn").SelfAttention(heads, groupedHeads*rotarySize, rotary(at))}}
		}
		return attending(at, heads)
	}
}
