package gpt

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Blocks lists the library's, the usual one first.
func Blocks() []Block {
	return []Block{
		{Name: "pre", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewBlock(at, a) }, Final: true},
		{Name: "post", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewPostNormBlock(at, a) }},
		{Name: "elman", Check: checkElman, New: func(at nn.Site, _ nn.Attention) nn.Layer { return nn.NewElman(at) }, Plain: true, Linears: elmanInput, Others: square},
	}
}

// checkElman refuses what a block without attention, norm and MLP would ignore.
func checkElman(c Config) error {
	for _, f := range []struct{ name, got, usual string }{
		{"attention", c.Attention, Attentions()[0].Name},
		{"norm", c.Norm, Norms()[0].Name},
		{"activation", c.Activation, Activations()[0].Name},
	} {
		if f.got != f.usual {
			return errors.Errorf("%s: got %s, want the usual, %s, with block elman, which has none", f.name, f.got, f.usual)
		}
	}
	if c.Position == "rope" || c.Position == "alibi" {
		return errors.Errorf("position: got %s, want learned, sinusoidal or none with block elman, which has no queries and keys", c.Position)
	}
	return nil
}

func elmanInput(c Config) []Linear {
	d := float64(c.NEmbd)
	return []Linear{{"c_input", d, []float64{d}, true}}
}

func square(c Config) float64 { return float64(c.NEmbd) * float64(c.NEmbd) }
