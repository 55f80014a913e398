package parts

import "github.com/pedestrian-ml/pedestrian/nn"

// Norm is a kind of normalisation.
type Norm struct {
	Name string
	New  func(at nn.Site) nn.Layer
}

// PartName is n's name.
func (n Norm) PartName() string { return n.Name }

// Norms lists the library's, the default first.
func Norms() []Norm {
	return []Norm{
		{"layernorm", func(at nn.Site) nn.Layer { return nn.NewLayerNorm(at) }},
		{"layernorm_sigma", func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }},
		{"layernorm_plain", func(at nn.Site) nn.Layer { return nn.NewLayerNormPlain(at) }},
	}
}
