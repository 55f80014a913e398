package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// pooled returns Cases of the layers that reduce the tokens of a sequence to one row.
func pooled[T hand.Number](n fixture.Sizes) []entry[T] {
	at := alternate(n.Batch, n.Tokens-1, min(2, n.Tokens-1))
	what := "one row for each sequence: the mean of its tokens, or one of them"
	return []entry[T]{{verify.Entry{ID: "I77", What: "logits within a cap", Source: "Gemma Team 2024"}, []formula[T]{
		{verify.Case{
			Name: "soft cap", Types: []string{"SoftCap"}, Source: "Gemma Team 2024",
			Build: func(_ nn.Site, x graph.Expr) graph.Expr { return nn.SoftCap{Cap: 0.7}.Forward(x) },
		}, fixed[T](hand.SoftCap[T]{Cap: 0.7})},
	}}, {verify.Entry{ID: "I61", What: what, Source: "derived"}, []formula[T]{
		{verify.Case{
			Name: "mean of tokens", Types: []string{"MeanTokens"}, Source: "derived: y is linear in x",
			Build: func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewMeanTokens(at).Forward(x) },
		}, fixed[T](hand.MeanTokens[T]{Batch: n.Batch})},
		{verify.Case{
			Name: "one token of each sequence", Types: []string{"GatherTokens"},
			Source: "Boué (2), (3): a product with the one-hot places",
			Build: func(s nn.Site, x graph.Expr) graph.Expr {
				return nn.NewGatherTokens(s, declare(s, "at", s.Context, -1, at)).Forward(x)
			},
		}, fixed[T](hand.GatherTokens[T]{At: at})},
	}}}
}
