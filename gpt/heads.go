package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Heads lists the library's, the usual one first.
func Heads() []Head {
	return []Head{
		{Name: "linear", New: linearHead, Linear: func(c Config) Linear {
			return Linear{"lm_head", float64(c.NEmbd), []float64{float64(c.VocabSize)}, true}
		}},
		{Name: "tied", New: func(at nn.Site, _ Config, wte *nn.Embedding) nn.Layer { return nn.NewTied(at.Scope, wte) }},
	}
}

func linearHead(at nn.Site, c Config, _ *nn.Embedding) nn.Layer {
	return at.Affine(at.Scope, c.NEmbd, []int{c.VocabSize}, c.Bias, graph.Normal(0.02))
}
