package cases

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func recurrences[T hand.Number](n fixture.Sizes) []entry[T] {
	return []entry[T]{{
		verify.Entry{ID: "I33", What: "Elman network", Source: "CS 224n (4)–(6), (19)–(20)"},
		[]formula[T]{elman[T](n, "elman", true), elman[T](n, "elman without a bias", false)},
	}}
}

func elman[T hand.Number](n fixture.Sizes, name string, bias bool) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"Elman"}, Source: "CS 224n (4)–(6), (19)",
		Layer: func(at nn.Site) nn.Layer {
			at.Bias = bias
			return nn.NewElman(at.At("rnn"))
		},
	}, recurrence[T](n)}
}

func recurrence[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] { return sequence[T]{{"rnn", at.At("rnn").Elman(n.Batch)}} }
}
