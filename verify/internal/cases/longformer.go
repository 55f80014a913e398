package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func longformers[T hand.Number]() []formula[T] {
	all := hand.Zeros[float64](fixture.Tokens, fixture.Tokens)
	return []formula[T]{
		longformer[T]("longformer with global projections", all, verify.Case{
			Build:         func(at nn.Site, x graph.Expr) graph.Expr { return newLongformer(at, nn.All{}).Forward(x) },
			Bidirectional: true,
		}),
		longformer[T]("causal longformer with global projections", hand.CausalMask(fixture.Tokens), verify.Case{
			Layer: func(at nn.Site) nn.Layer { return newLongformer(at, nn.Causal{}) },
		}),
	}
}

func longformer[T hand.Number](name string, under matrix, c verify.Case) formula[T] {
	c.Name, c.Types, c.Source = name, []string{"Longformer"}, "Beltagy et al. 2020, 3.1; Conti 2.1.1"
	return formula[T]{c, windows[T](under)}
}

func newLongformer(at nn.Site, see nn.Visibility) *nn.Longformer {
	mask := nn.NewMask(at.Sub("own"), at.Dims, see)
	return nn.NewLongformer(at.At("attn"), nn.NewLongformerMask(at.Sub("own"), mask, dilation()))
}

func windows[T hand.Number](under matrix) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		d := dilation()
		masks := func(_, h int) hand.LongformerMask {
			global := hand.GlobalMask(fixture.Tokens, d.Global)
			local := hand.Except(hand.DilatedMask(fixture.Tokens, d.Width, d.Dilation[h]), global)
			return hand.LongformerMask{Local: local.Add(under), Global: global.Add(under)}
		}
		const heads, qk = fixture.Heads, fixture.Heads * fixture.QK
		return sequence[T]{{"attn", at.At("attn").Longformer(fixture.Batch, heads, qk, nil, masks)}}
	}
}
