package cases

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func dropouts[T hand.Number](n fixture.Sizes) []entry[T] {
	source := "Diab section 2.5, erratum D4"
	return []entry[T]{{verify.Entry{ID: "I28", What: "dropout", Source: source}, []formula[T]{
		{verify.Case{
			Name: "dropout with its mask fixed", Types: []string{"Dropout"}, Source: source,
			Build: func(at nn.Site, x graph.Expr) graph.Expr {
				at.Dropout = probability
				return nn.NewDropout(at.At("drop")).Forward(x)
			},
		}, dropout[T](n)},
		self[T](n, selfAttention{
			name: "attention with dropout", source: source, sight: causal(n), dropout: probability,
		}),
	}}}
}

func dropout[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] { return drawing(n, at, probability, 0).Drop("drop") }
}

const probability = 0.3 // of dropout in a Case

// drawing returns the site with the dropout masks that the library draws; attention weights have the given number of
// keys.
func drawing[T hand.Number](n fixture.Sizes, at hand.Site[T], p float64, keys int) hand.Site[T] {
	at.Dropout = func(path string) matrix {
		rows, cols := n.Batch*n.Tokens, n.Features
		switch {
		case p == 0:
			return matrix{}
		case strings.HasSuffix(path, "attn_dropout"):
			rows, cols = n.Heads*rows, keys
		}
		return fixture.DropoutMask(path, p, rows, cols)
	}
	return at
}
