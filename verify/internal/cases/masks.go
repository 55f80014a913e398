package cases

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// masks returns Cases of attention with masks other than the causal one, and with masks that differ between heads.
func masks[T hand.Number]() []entry[T] {
	const n = fixture.Tokens
	const source = "Boué (13), Diab section 2.2, erratum D3b"
	bird := nn.BigBird{Width: 1, Global: []int{3}, Random: 1, Seed: 5}
	birds := hand.BigBirdMask(n, bird.Width, bird.Global, drawn(nn.All{nn.Causal{}, bird})).Add(hand.CausalMask(n))
	padded := func(b, h int) matrix { return dilated(h).Add(hand.SourceMask(n, n, lengths().Lengths[b])) }
	graphs := func(_, h int) matrix { return dilated(h).Add(hand.CausalMask(n)) }
	return []entry[T]{
		{
			verify.Entry{
				ID: "I12", What: "masks: causal, padding, window, per head",
				Source: "Boué (13), Diab section 2.2, CS 224n (21)",
			},
			[]formula[T]{
				self[T](selfAttention{name: "attention with padding", source: source, sight: padding()}),
				self[T](selfAttention{name: "causal attention with padding", source: source, sight: causalPadding()}),
				self[T](selfAttention{
					name:   "dilated attention per head with padding",
					source: "Diab section 2.2, erratum D3b; Beltagy et al. 2020",
					sight:  sight{see: seeing(nn.All{lengths(), dilation()}).see, mask: padded, both: true},
				}),
			},
		},
		{
			verify.Entry{ID: "I13", What: "BigBird and Longformer", Source: "Conti (13), section 2.1.1"},
			append([]formula[T]{
				self[T](selfAttention{
					name: "causal attention in BigBird's graph", source: "Conti (13), erratum C8",
					sight: seeing(nn.All{nn.Causal{}, bird}, birds),
				}),
				self[T](selfAttention{
					name:   "causal attention in Longformer's graph",
					source: "Beltagy et al. 2020, 3.1; Conti 2.1.1, erratum C13",
					sight:  sight{see: seeing(nn.All{nn.Causal{}, dilation()}).see, mask: graphs},
				}),
			}, longformers[T]()...),
		},
	}
}

// lengths returns the lengths of the sequences; the second one is padded.
func lengths() nn.Padding { return nn.Padding{Lengths: []int{fixture.Tokens, fixture.Tokens - 2}} }

func paddingMask() matrix { return hand.SourceMask(fixture.Tokens, fixture.Tokens, fixture.Tokens-2) }

func padding() sight {
	return bothWays(seeing(lengths(), hand.Zeros[float64](fixture.Tokens, fixture.Tokens), paddingMask()))
}

func causalPadding() sight {
	m := hand.CausalMask(fixture.Tokens)
	return seeing(nn.All{nn.Causal{}, lengths()}, m, m.Add(paddingMask()))
}

// dilation returns a window that is wider in the second head, and a global token.
func dilation() nn.Dilated { return nn.Dilated{Width: 2, Dilation: []int{1, 2}, Global: []int{2}} }

func dilated(h int) matrix {
	d := dilation()
	local := hand.DilatedMask(fixture.Tokens, d.Width, d.Dilation[h])
	return hand.Either(local, hand.GlobalMask(fixture.Tokens, d.Global))
}

// drawn returns the keys that the library has drawn at random: those that a query attends to, and would not attend to
// without random keys.
func drawn(see nn.All) [][]int {
	const n = fixture.Tokens
	plain := slices.Clone(see)
	for i, v := range plain {
		if bird, ok := v.(nn.BigBird); ok {
			bird.Random = 0
			plain[i] = bird
		}
	}
	read := func(v nn.Visibility) []float64 {
		return nn.NewMask(fixture.Graph().Root(), fixture.Dims(), v).Expr().Tensor().Floats()
	}
	with, without := read(see), read(plain)
	keys := make([][]int, n)
	for i := range with {
		if with[i] != without[i] {
			keys[i/n] = append(keys[i/n], i%n)
		}
	}
	return keys
}
