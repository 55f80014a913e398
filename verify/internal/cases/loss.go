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
	ahead := hand.MultiToken[T]{
		CrossEntropy: hand.CrossEntropy[T]{Targets: ignored, Smoothing: 0.2},
		Heads:        min(3, n.Tokens-1), Length: n.Tokens,
	}
	return []entry[T]{{
		verify.Entry{ID: "I02", What: "cross entropy from logits", Source: "Boué section 1, Diab (15)"},
		[]formula[T]{
			crossEntropy("cross entropy, mean", hand.CrossEntropy[T]{Targets: targets}),
			crossEntropy("cross entropy, sum", hand.CrossEntropy[T]{Targets: targets, Reduction: hand.Sum}),
			crossEntropy("cross entropy, mean, ignored targets", hand.CrossEntropy[T]{Targets: ignored}),
			crossEntropy("cross entropy, sum, ignored targets",
				hand.CrossEntropy[T]{Targets: ignored, Reduction: hand.Sum}),
		},
	}, {
		verify.Entry{ID: "I84", What: "z-loss", Source: "Chowdhery et al. 2022 (PaLM), section 5"},
		[]formula[T]{crossEntropy("cross entropy, z-loss", hand.CrossEntropy[T]{Targets: ignored, ZLoss: 0.3})},
	}, {
		verify.Entry{ID: "I85", What: "label smoothing", Source: "Szegedy et al. 2015, section 7"},
		[]formula[T]{
			crossEntropy("cross entropy, label smoothing", hand.CrossEntropy[T]{Targets: ignored, Smoothing: 0.2}),
			crossEntropy("cross entropy, label smoothing and z-loss, sum",
				hand.CrossEntropy[T]{Targets: targets, Reduction: hand.Sum, Smoothing: 0.6, ZLoss: 0.1}),
		},
	}, {
		verify.Entry{ID: "I110", What: "multi-token prediction", Source: "Gloeckle et al. 2024, section 2"},
		[]formula[T]{multiToken(ahead)},
	}}
}

// multiToken returns a Case of the loss of several heads. The logits of head i are xλᵢ.
func multiToken[T hand.Number](by hand.MultiToken[T]) formula[T] {
	heads := factors[T]{by, []float64{1, -0.5, 2}[:by.Heads]}
	return formula[T]{verify.Case{
		Name: "cross entropy of the tokens ahead", Types: []string{"MultiToken"},
		Source: "Gloeckle et al. 2024, equation 2",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			l := nn.NewMultiToken(at.Scope, by.Length)
			l.Smoothing = by.Smoothing
			var logits []graph.Expr
			for _, c := range heads.list {
				logits = append(logits, x.Scale(c))
			}
			return l.Forward(logits, declare(at, "targets", at.Embd, hand.Ignore, by.Targets))
		},
	}, fixed[T](heads)}
}

// factors applies a layer to xλ₁, xλ₂, …, one below the other.
type factors[T hand.Number] struct {
	layer hand.Layer[T]
	list  []float64 // λ
}

// Forward returns the layer's result.
func (l factors[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] { return l.layer.Forward(l.stack(x)) }

// Backward returns Δx = Σ λᵢ·Δᵢ for the rows Δᵢ of xλᵢ.
func (l factors[T]) Backward(x, delta hand.Matrix[T]) (dx hand.Matrix[T], g hand.Gradients[T]) {
	d, g := l.layer.Backward(l.stack(x), delta)
	for i, c := range l.list {
		part := d.Tokens(i*x.Rows, (i+1)*x.Rows).Scale(c)
		if i == 0 {
			dx = part
			continue
		}
		dx = dx.Add(part)
	}
	return dx, g
}

func (l factors[T]) stack(x hand.Matrix[T]) hand.Matrix[T] {
	var parts []hand.Matrix[T]
	for _, c := range l.list {
		parts = append(parts, x.Scale(c))
	}
	return hand.JoinTokens(parts...)
}

// crossEntropy returns a Case of the loss. The features of x serve as the logits of the words.
func crossEntropy[T hand.Number](name string, by hand.CrossEntropy[T]) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"CrossEntropy"}, Source: "Boué section 1, Δ₁₂ of Table 2; errata B10, D6",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			l := nn.NewCrossEntropy(at.Scope)
			l.Sum, l.Smoothing, l.ZLoss = by.Reduction == hand.Sum, by.Smoothing, by.ZLoss
			return l.Forward(x, declare(at, "targets", at.Embd, hand.Ignore, by.Targets))
		},
	}, fixed[T](by)}
}

// choices returns a word, one of the features of x, for every token.
func choices(n fixture.Sizes) []int {
	return repeated([]int{2, 7, 0, 1, 2, 5, 6, 3, 3, 4, 1, 0}, n.Batch*n.Tokens, n.Features)
}
