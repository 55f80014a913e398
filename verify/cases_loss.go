package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func lossCases() []Case {
	targets := []int{2, 7, 0, 1, 2, 5, 6, 3, 3, 4, 1, 0}
	ignored := []int{Ignore, 7, 0, 1, Ignore, 5, 6, 3, 3, 4, 1, Ignore}
	return []Case{
		lossCase("cross entropy, mean", Mean, targets),
		lossCase("cross entropy, sum", Sum, targets),
		lossCase("cross entropy, mean, ignored targets", Mean, ignored),
		lossCase("cross entropy, sum, ignored targets", Sum, ignored),
	}
}

// lossCase takes x for the logits of as many words as it has features.
func lossCase(name string, reduction Reduction, targets []int) Case {
	return Case{
		ID: "I02", Name: name, Types: []string{"CrossEntropy"}, Source: "Boué section 1, Δ₁₂ of Table 2; errata B10, D6",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			l := nn.NewCrossEntropy(at.Scope)
			l.Sum = reduction == Sum
			return l.Forward(x, caseIDs(at, "targets", at.Embd, Ignore, targets))
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return CrossEntropyForward(p[input], targets, reduction)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			return Parameters[float64]{input: CrossEntropyBackward(p[input], targets, reduction).Mul(delta)}
		},
	}
}
