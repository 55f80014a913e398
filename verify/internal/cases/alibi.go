package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func biases[T hand.Number]() []entry[T] {
	const source = "CS 224n (13), erratum S1"
	alibi := func(_, h int) matrix { return hand.ALiBiMask(fixture.Tokens, h+1, fixture.Heads) }
	under := func(b, h int) matrix { return alibi(b, h).Add(hand.CausalMask(fixture.Tokens)) }
	return []entry[T]{{verify.Entry{ID: "I07", What: "ALiBi", Source: source}, []formula[T]{
		self[T](selfAttention{
			name: "causal attention with linear biases", source: source,
			sight: sight{see: linearBiases(nn.Causal{}, fixture.Heads), mask: under, past: true},
		}),
		self[T](selfAttention{
			name: "attention with linear biases", source: source,
			sight: sight{see: linearBiases(nn.All{}, fixture.Heads), mask: alibi, both: true},
		}),
	}}}
}

func linearBiases(see nn.Visibility, heads int) func(s graph.Scope, d nn.Dims) *nn.Mask {
	return func(s graph.Scope, d nn.Dims) *nn.Mask {
		return nn.NewBiasedMask(s, d, see, nn.NewALiBi(heads))
	}
}
