package gpt

import "github.com/pedestrian-ml/pedestrian/nn"

// Norms lists the library's, the usual one first.
func Norms() []Norm {
	return []Norm{
		{Name: "layernorm", New: func(at nn.Site) nn.Layer { return nn.NewLayerNorm(at) }, Count: gainAndShift},
		{Name: "layernorm_sigma", New: func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }, Count: gainAndShift},
		{Name: "layernorm_plain", New: func(at nn.Site) nn.Layer { return nn.NewLayerNormPlain(at) }},
	}
}

// gainAndShift is d numbers each, the shift where there are biases.
func gainAndShift(c Config) float64 {
	if c.Bias {
		return 2 * float64(c.NEmbd)
	}
	return float64(c.NEmbd)
}
