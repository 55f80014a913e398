package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Positions lists the library's, the usual one first.
func Positions() []Position {
	return []Position{
		{Name: "learned", New: learned, Count: func(c Config) float64 { return float64(c.BlockSize) * float64(c.NEmbd) }},
		{Name: "none", New: func(*nn.Site, Config) nn.Layer { return nil }},
	}
}

func learned(at *nn.Site, _ Config) nn.Layer {
	return added{nn.NewEmbedding(at.Sub("wpe"), at.Context, at.Embd), at.Positions}
}

type added struct {
	table *nn.Embedding
	ids   graph.Expr
}

func (a added) Forward(x graph.Expr) graph.Expr { return x.Add(a.table.Forward(a.ids)) }
