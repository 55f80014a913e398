package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func longformers() []verify.Case {
	return of([]string{"attention=longformer", "attention=bigbird", "attention=dilated"},
		longformer("longformer with global projections", nn.All{}, hand.Zeros[float64](fixture.Tokens, fixture.Tokens)),
		longformer("causal longformer with global projections", nn.Causal{}, hand.CausalMask(fixture.Tokens)),
	)
}

func longformer(name string, see nn.Visibility, under matrix) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{"Longformer"}, Source: "Beltagy et al. 2020, 3.1; Conti 2.1.1",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			mask := nn.NewMask(at.Sub("own"), at.Dims, see)
			return nn.NewLongformer(at.At("attn"), nn.NewLongformerMask(at.Sub("own"), mask, dilation())).Forward(x)
		},
	}, windows[float64](under), windows[complex128](under))
}

func windows[T hand.Number](under matrix) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		d := dilation()
		masks := func(_, h int) hand.LongformerMask {
			global := hand.GlobalMask(fixture.Tokens, d.Global)
			local := hand.Except(hand.DilatedMask(fixture.Tokens, d.Width, d.Dilation[h]), global)
			return hand.LongformerMask{Local: local.Add(under), Global: global.Add(under)}
		}
		return sequence[T]{{"attn", at.At("attn").Longformer(fixture.Batch, fixture.Heads, fixture.Heads*fixture.QK, nil, masks)}}
	}
}
