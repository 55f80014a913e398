package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

const theta = 100 // the base, which makes the angles of a token's groups differ

// rotarySize returns the number of features in a group: at the default sizes, a token has two groups.
func rotarySize(n fixture.Sizes) int {
	if n.Features%4 != 0 {
		return 2
	}
	return 4
}

func rotations[T hand.Number](n fixture.Sizes) []entry[T] {
	const source = "Xu (47)–(56)"
	return []entry[T]{{
		verify.Entry{ID: "I08", What: "rotary positions", Source: "Xu (47)–(56), errata X2, X3"},
		[]formula[T]{
			{verify.Case{
				Name: "rotary positions", Types: []string{"RoPE"}, Source: source,
				Build: func(at nn.Site, x graph.Expr) graph.Expr {
					return nn.NewRoPE(placed(n, at, at.Context).At("rope"), rotarySize(n), theta).Forward(x)
				},
			}, fixed[T](rotary[T](n))},
			{verify.Case{
				Name: "causal attention with rotary positions", Types: []string{"SelfAttention", "RoPE"},
				Source: source,
				Layer: func(at nn.Site) nn.Layer {
					at.QK = rotarySize(n)
					at.Rotary = nn.NewRoPE(at.At("rope"), at.QK, theta)
					return nn.NewSelfAttention(at.At("attn"))
				},
			}, rotaryAttention[T](n)},
		},
	}, {
		verify.Entry{ID: "I86", What: "rotary positions of some features", Source: "Black et al. 2022, section 2.1.1"},
		[]formula[T]{{verify.Case{
			Name: "partial rotary positions", Types: []string{"RoPE"}, Source: "Black et al. 2022",
			Build: func(at nn.Site, x graph.Expr) graph.Expr {
				at = placed(n, at, at.Context).At("rope")
				return nn.NewPartialRoPE(at, n.Features/2*2, partOf(n), theta).Rotate(x, 1, n.Features/2*2)
			},
		}, fixed[T](partialRotary[T](n))}},
	}, {
		verify.Entry{
			ID: "I87", What: "rotary positions for longer contexts",
			Source: "Chen et al. 2023, Llama Team 2024, Peng et al. 2023, Ding et al. 2024",
		},
		[]formula[T]{
			scaledRotary[T](n, "linear", "Chen et al. 2023", nn.LinearScaling{Factor: 3},
				hand.RotaryScaling{Kind: "linear", Factor: 3}),
			scaledRotary[T](n, "llama3", "Llama Team 2024", nn.Llama3Scaling{Factor: 3, Original: 90},
				hand.RotaryScaling{Kind: "llama3", Factor: 3, Original: 90}),
			scaledRotary[T](n, "yarn", "Peng et al. 2023", nn.YaRN{Factor: 3, Original: 600},
				hand.RotaryScaling{Kind: "yarn", Factor: 3, Original: 600}),
			scaledRotary[T](n, "yarn, by other numbers", "Peng et al. 2023",
				nn.YaRN{Factor: 3, Original: 600, Fast: 20, Slow: 2, Unrounded: true, Scale: 1.25},
				hand.RotaryScaling{
					Kind: "yarn", Factor: 3, Original: 600, Fast: 20, Slow: 2, Unrounded: true, Scale: 1.25,
				}),
			scaledRotary[T](n, "longrope", "Ding et al. 2024",
				nn.LongRoPE{Factors: divisors(n), Scale: 1.125},
				hand.RotaryScaling{Kind: "longrope", Divisors: divisors(n), Scale: 1.125}),
		},
	}}
}

// scaledRotary returns the Case of a scaling. Its sizes have pairs that turn often, rarely and between.
func scaledRotary[T hand.Number](
	n fixture.Sizes, kind, source string, scaling nn.RotaryScaling, by hand.RotaryScaling,
) formula[T] {
	size := n.Features / 2 * 2
	return formula[T]{verify.Case{
		Name: "rotary positions, scaled: " + kind, Types: []string{"RoPE"}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at = placed(n, at, at.Context).At("rope")
			return nn.NewScaledRoPE(at, size, max(2, size-2), theta, scaling).Rotate(x, 1, size)
		},
	}, fixed[T](hand.RoPE[T]{
		Positions: places(n), Size: size, RotaryDim: max(2, size-2), Theta: theta, Scaling: by,
	})}
}

// divisors returns a divisor of every frequency of scaledRotary.
func divisors(n fixture.Sizes) (list []float64) {
	for i := range max(2, n.Features/2*2-2) / 2 {
		list = append(list, 1+float64(i*i)/3)
	}
	return list
}

// partOf returns the number of features that rotate: about half of them.
func partOf(n fixture.Sizes) int { return max(2, n.Features/4*2) }

func partialRotary[T hand.Number](n fixture.Sizes) hand.Layer[T] {
	return hand.RoPE[T]{Positions: places(n), Size: n.Features, RotaryDim: partOf(n), Theta: theta}
}

func rotary[T hand.Number](n fixture.Sizes) hand.Layer[T] {
	return hand.RoPE[T]{Positions: places(n), Size: rotarySize(n), Theta: theta}
}

// rotaryAttention rotates queries and keys between their projection and the attention. A key's bias rotates too, so it
// no longer cancels in the softmax.
func rotaryAttention[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		heads := softmax(n, at, causal(n).mask)
		return sequence[T]{{"attn", at.At("attn").SelfAttention(heads, n.Heads*rotarySize(n), rotary[T](n))}}
	}
}
