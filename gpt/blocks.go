package gpt

import "github.com/pedestrian-ml/pedestrian/nn"

// Blocks lists the library's, the usual one first.
func Blocks() []Block {
	return []Block{
		{Name: "pre", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewBlock(at, a) }, Final: true},
		{Name: "post", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewPostNormBlock(at, a) }},
	}
}
