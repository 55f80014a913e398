package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func linformers[T hand.Number](n fixture.Sizes) []entry[T] {
	return []entry[T]{{
		verify.Entry{ID: "I47", What: "Linformer", Source: "Conti (19)"},
		[]formula[T]{linformer[T](n, "linformer", 0), linformer[T](n, "linformer with dropout", probability)},
	}}
}

func mixedKeys(n fixture.Sizes) int { return min(4, n.Tokens) }

func linformer[T hand.Number](n fixture.Sizes, name string, dropout float64) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"Linformer"}, Source: "Conti (19)", Bidirectional: true,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Dropout, at.Mask = dropout, nn.NewMask(at.Sub("own"), at.Dims, nn.All{})
			return nn.NewLinformer(at.At("attn"), mixedKeys(n)).Forward(x)
		},
	}, mixing[T](n, dropout)}
}

func mixing[T hand.Number](n fixture.Sizes, dropout float64) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at = drawing(n, at, dropout, mixedKeys(n)).At("attn")
		return sequence[T]{{"attn", at.Linformer(n.Batch, n.Heads, n.Heads*n.QK)}}
	}
}
