package cases

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// masks returns Cases of attention with masks other than the causal one, and with masks that differ between heads.
func masks[T hand.Number](n fixture.Sizes) []entry[T] {
	const source = "Boué (13), Diab section 2.2, erratum D3b"
	bird := nn.BigBird{Width: 1, Global: []int{min(3, n.Tokens-1)}, Random: 1, Seed: 5}
	keys := drawn(n, nn.All{nn.Causal{}, bird})
	birds := hand.BigBirdMask(n.Tokens, bird.Width, bird.Global, keys).Add(hand.CausalMask(n.Tokens))
	padded := func(b, h int) matrix {
		return dilated(n, h).Add(hand.SourceMask(n.Tokens, n.Tokens, lengths(n).Lengths[b]))
	}
	graphs := func(_, h int) matrix { return dilated(n, h).Add(hand.CausalMask(n.Tokens)) }
	return []entry[T]{
		{
			verify.Entry{
				ID: "I12", What: "masks: causal, padding, window, per head",
				Source: "Boué (13), Diab section 2.2, CS 224n (21)",
			},
			[]formula[T]{
				self[T](n, selfAttention{name: "attention with padding", source: source, sight: padding(n)}),
				self[T](n, selfAttention{
					name: "causal attention with padding", source: source, sight: causalPadding(n),
				}),
				self[T](n, selfAttention{
					name:   "dilated attention per head with padding",
					source: "Diab section 2.2, erratum D3b; Beltagy et al. 2020",
					sight:  sight{see: seeing(nn.All{lengths(n), dilation(n)}).see, mask: padded, both: true},
				}),
			},
		},
		{
			verify.Entry{ID: "I13", What: "BigBird and Longformer", Source: "Conti (13), section 2.1.1"},
			append([]formula[T]{
				self[T](n, selfAttention{
					name: "causal attention in BigBird's graph", source: "Conti (13), erratum C8",
					sight: seeing(nn.All{nn.Causal{}, bird}, birds),
				}),
				self[T](n, selfAttention{
					name:   "causal attention in Longformer's graph",
					source: "Beltagy et al. 2020, 3.1; Conti 2.1.1, erratum C13",
					sight:  sight{see: seeing(nn.All{nn.Causal{}, dilation(n)}).see, mask: graphs},
				}),
			}, longformers[T](n)...),
		},
	}
}

// lengths returns the lengths of the sequences; every other one is padded.
func lengths(n fixture.Sizes) nn.Padding {
	return nn.Padding{Lengths: alternate(n.Batch, n.Tokens, shortest(n))}
}

// shortest returns the length of a padded sequence.
func shortest(n fixture.Sizes) int { return max(n.Tokens-2, 1) }

// alternate returns count sizes: even, odd, even, …
func alternate(count, even, odd int) (sizes []int) {
	for i := range count {
		sizes = append(sizes, []int{even, odd}[i%2])
	}
	return sizes
}

func paddingMask(n fixture.Sizes) matrix {
	return hand.SourceMask(n.Tokens, n.Tokens, shortest(n))
}

func padding(n fixture.Sizes) sight {
	return bothWays(seeing(lengths(n), hand.Zeros[float64](n.Tokens, n.Tokens), paddingMask(n)))
}

func causalPadding(n fixture.Sizes) sight {
	m := hand.CausalMask(n.Tokens)
	return seeing(nn.All{nn.Causal{}, lengths(n)}, m, m.Add(paddingMask(n)))
}

// dilation returns a window that is wider in every other head, and a global token, which is never padding.
func dilation(n fixture.Sizes) nn.Dilated {
	return nn.Dilated{Width: 2, Dilation: alternate(n.Heads, 1, 2), Global: []int{min(2, shortest(n)-1)}}
}

func dilated(n fixture.Sizes, h int) matrix {
	d := dilation(n)
	local := hand.DilatedMask(n.Tokens, d.Width, d.Dilation[h])
	return hand.Either(local, hand.GlobalMask(n.Tokens, d.Global))
}

// drawn returns the keys that the library has drawn at random: those that a query attends to, and would not attend to
// without random keys.
func drawn(n fixture.Sizes, see nn.All) [][]int {
	plain := slices.Clone(see)
	for i, v := range plain {
		if bird, ok := v.(nn.BigBird); ok {
			bird.Random = 0
			plain[i] = bird
		}
	}
	read := func(v nn.Visibility) []float64 {
		return nn.NewMask(fixture.Graph().Root(), n.Dims(), v).Expr().Tensor().Floats()
	}
	with, without := read(see), read(plain)
	keys := make([][]int, n.Tokens)
	for i := range with {
		if with[i] != without[i] {
			keys[i/n.Tokens] = append(keys[i/n.Tokens], i%n.Tokens)
		}
	}
	return keys
}
