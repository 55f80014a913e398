package cases

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func recurrences[T hand.Number]() []entry[T] {
	return []entry[T]{{
		verify.Entry{ID: "I33", What: "Elman network", Source: "CS 224n (4)–(6), (19)–(20)"},
		[]formula[T]{elman[T]("elman", true), elman[T]("elman without a bias", false)},
	}}
}

func elman[T hand.Number](name string, bias bool) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"Elman"}, Source: "CS 224n (4)–(6), (19)",
		Layer: func(at nn.Site) nn.Layer {
			at.Bias = bias
			return nn.NewElman(at.At("rnn"))
		},
	}, recurrence[T]}
}

func recurrence[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	return sequence[T]{{"rnn", at.At("rnn").Elman(fixture.Batch)}}
}
