package gpt

import "github.com/pedestrian-ml/pedestrian/nn"

// Blocks lists the library's, the usual one first.
func Blocks() []Block {
	return []Block{
		{Name: "pre", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewBlock(at, a) }, Final: true},
		{Name: "post", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewPostNormBlock(at, a) }},
		{Name: "elman", New: func(at nn.Site, _ nn.Attention) nn.Layer { return nn.NewElman(at) }, Plain: true, Linears: elmanInput, Others: square},
	}
}

func elmanInput(c Config) []Linear {
	d := float64(c.NEmbd)
	return []Linear{{"c_input", d, []float64{d}, true}}
}

func square(c Config) float64 { return float64(c.NEmbd) * float64(c.NEmbd) }
