package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func linformers[T hand.Number]() []entry[T] {
	return []entry[T]{{
		verify.Entry{ID: "I47", What: "Linformer", Source: "Conti (19)"},
		[]formula[T]{linformer[T]("linformer", 0), linformer[T]("linformer with dropout", probability)},
	}}
}

const mixedKeys = 4

func linformer[T hand.Number](name string, dropout float64) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"Linformer"}, Source: "Conti (19)", Bidirectional: true,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Dropout, at.Mask = dropout, nn.NewMask(at.Sub("own"), at.Dims, nn.All{})
			return nn.NewLinformer(at.At("attn"), mixedKeys).Forward(x)
		},
	}, mixing[T](dropout)}
}

func mixing[T hand.Number](dropout float64) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at = drawing(at, dropout, fixture.Heads, mixedKeys).At("attn")
		return sequence[T]{{"attn", at.Linformer(fixture.Batch, fixture.Heads, fixture.Heads*fixture.QK)}}
	}
}
