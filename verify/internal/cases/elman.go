package cases

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func recurrences() []verify.Entry {
	return []verify.Entry{{
		ID: "I33", What: "Elman network", Source: "CS 224n (4)–(6), (19)–(20)",
		Cases: part("block=elman", elman("elman", true), elman("elman without a bias", false)),
	}}
}

func elman(name string, bias bool) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{"Elman"}, Source: "CS 224n (4)–(6), (19)",
		Layer: func(at nn.Site) nn.Layer {
			at.Bias = bias
			return nn.NewElman(at.At("rnn"))
		},
	}, recurrence[float64], recurrence[complex128])
}

func recurrence[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	return sequence[T]{{"rnn", at.At("rnn").Elman(fixture.Batch)}}
}
