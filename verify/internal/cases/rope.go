package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Rotary positions: a token of the fixture has two groups, and the base makes their angles differ.
const (
	rotarySize = 4
	theta      = 100
)

func rotations[T hand.Number]() []entry[T] {
	const source = "Xu (47)–(56)"
	return []entry[T]{{
		verify.Entry{ID: "I08", What: "rotary positions", Source: "Xu (47)–(56), errata X2, X3"},
		[]formula[T]{
			{verify.Case{
				Name: "rotary positions", Types: []string{"RoPE"}, Source: source,
				Build: func(at nn.Site, x graph.Expr) graph.Expr {
					return nn.NewRoPE(placed(at, at.Context).At("rope"), rotarySize, theta).Forward(x)
				},
			}, rotary[T]},
			{verify.Case{
				Name: "causal attention with rotary positions", Types: []string{"SelfAttention", "RoPE"},
				Source: source,
				Layer: func(at nn.Site) nn.Layer {
					at.QK = rotarySize
					at.Rotary = nn.NewRoPE(at.At("rope"), at.QK, theta)
					return nn.NewSelfAttention(at.At("attn"))
				},
			}, rotaryAttention[T]},
		},
	}}
}

func rotary[T hand.Number](hand.Site[T]) hand.Layer[T] {
	return hand.RoPE[T]{Positions: places(), Size: rotarySize, Theta: theta}
}

// rotaryAttention rotates queries and keys between their projection and the attention. A key's bias rotates too, so it
// no longer cancels in the softmax.
func rotaryAttention[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	heads := softmax(at, fixture.Heads, causal().mask)
	return sequence[T]{{"attn", at.At("attn").SelfAttention(heads, fixture.Heads*rotarySize, rotary(at))}}
}
