package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func longformers[T hand.Number](n fixture.Sizes) []formula[T] {
	all := hand.Zeros[float64](n.Tokens, n.Tokens)
	return []formula[T]{
		longformer[T](n, "longformer with global projections", all, verify.Case{
			Build: func(at nn.Site, x graph.Expr) graph.Expr {
				return newLongformer(n, at, nn.All{}).Forward(x)
			},
			Bidirectional: true,
		}),
		longformer[T](n, "causal longformer with global projections", hand.CausalMask(n.Tokens), verify.Case{
			Layer: func(at nn.Site) nn.Layer { return newLongformer(n, at, nn.Causal{}) },
		}),
	}
}

func longformer[T hand.Number](n fixture.Sizes, name string, under matrix, c verify.Case) formula[T] {
	c.Name, c.Types, c.Source = name, []string{"Longformer"}, "Beltagy et al. 2020, 3.1; Conti 2.1.1"
	return formula[T]{c, windows[T](n, under)}
}

func newLongformer(n fixture.Sizes, at nn.Site, see nn.Visibility) *nn.Longformer {
	mask := nn.NewMask(at.Sub("own"), at.Dims, see)
	return nn.NewLongformer(at.At("attn"), nn.NewLongformerMask(at.Sub("own"), mask, dilation(n)))
}

func windows[T hand.Number](n fixture.Sizes, under matrix) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		d := dilation(n)
		masks := func(_, h int) hand.LongformerMask {
			global := hand.GlobalMask(n.Tokens, d.Global)
			local := hand.Except(hand.DilatedMask(n.Tokens, d.Width, d.Dilation[h]), global)
			return hand.LongformerMask{Local: local.Add(under), Global: global.Add(under)}
		}
		return sequence[T]{{"attn", at.At("attn").Longformer(n.Batch, n.Heads, n.Heads*n.QK, nil, masks)}}
	}
}
