package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func biases[T hand.Number](n fixture.Sizes) []entry[T] {
	const source = "CS 224n (13), erratum S1"
	alibi := func(_, h int) matrix { return hand.ALiBiMask(n.Tokens, h+1, n.Heads) }
	under := func(b, h int) matrix { return alibi(b, h).Add(hand.CausalMask(n.Tokens)) }
	return []entry[T]{{verify.Entry{ID: "I07", What: "ALiBi", Source: source}, []formula[T]{
		self[T](n, selfAttention{
			name: "causal attention with linear biases", source: source,
			sight: sight{see: linearBiases(nn.Causal{}, n.Heads), mask: under, past: true},
		}),
		self[T](n, selfAttention{
			name: "attention with linear biases", source: source,
			sight: sight{see: linearBiases(nn.All{}, n.Heads), mask: alibi, both: true},
		}),
	}}}
}

func linearBiases(see nn.Visibility, heads int) func(s graph.Scope, d nn.Dims) *nn.Mask {
	return func(s graph.Scope, d nn.Dims) *nn.Mask {
		return nn.NewBiasedMask(s, d, see, nn.NewALiBi(heads))
	}
}
