package cases

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func losses[T hand.Number](n fixture.Sizes) []entry[T] {
	targets := choices(n)
	ignored := slices.Clone(targets)
	for i := range ignored {
		if slices.Contains([]int{0, 4, 11}, i) {
			ignored[i] = hand.Ignore
		}
	}
	return []entry[T]{{
		verify.Entry{ID: "I02", What: "cross entropy from logits", Source: "Boué section 1, Diab (15)"},
		[]formula[T]{
			crossEntropy[T]("cross entropy, mean", hand.Mean, targets),
			crossEntropy[T]("cross entropy, sum", hand.Sum, targets),
			crossEntropy[T]("cross entropy, mean, ignored targets", hand.Mean, ignored),
			crossEntropy[T]("cross entropy, sum, ignored targets", hand.Sum, ignored),
		},
	}}
}

// crossEntropy returns a Case of the loss. The features of x serve as the logits of the words.
func crossEntropy[T hand.Number](name string, reduction hand.Reduction, targets []int) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"CrossEntropy"}, Source: "Boué section 1, Δ₁₂ of Table 2; errata B10, D6",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			l := nn.NewCrossEntropy(at.Scope)
			l.Sum = reduction == hand.Sum
			return l.Forward(x, declare(at, "targets", at.Embd, hand.Ignore, targets))
		},
	}, fixed[T](hand.CrossEntropy[T]{Targets: targets, Reduction: reduction})}
}

// choices returns a word, one of the features of x, for every token.
func choices(n fixture.Sizes) []int {
	return repeated([]int{2, 7, 0, 1, 2, 5, 6, 3, 3, 4, 1, 0}, n.Batch*n.Tokens, n.Features)
}
