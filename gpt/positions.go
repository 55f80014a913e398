package gpt

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Positions lists the library's, the usual one first.
func Positions() []Position {
	return []Position{
		{Name: "learned", New: learned, Count: func(c Config) float64 { return float64(c.BlockSize) * float64(c.NEmbd) }},
		{Name: "sinusoidal", Check: checkSinusoidal, New: sinusoidal},
		{Name: "rope", Check: checkRope, New: rope},
		{Name: "alibi", New: alibi},
		{Name: "none", New: func(*nn.Site, Config) nn.Layer { return nil }},
	}
}

func learned(at *nn.Site, _ Config) nn.Layer { return nn.NewLearnedPositions(at.At("wpe")) }

func sinusoidal(at *nn.Site, _ Config) nn.Layer { return nn.NewSinusoidal(at.At("wpe"), 10_000) }

func checkSinusoidal(c Config) error {
	if c.NEmbd%2 != 0 {
		return errors.Errorf("n_embd: got %d, want an even number, such as %d, for sinusoidal positions, which come in pairs", c.NEmbd, c.NEmbd+1)
	}
	return nil
}

func rope(at *nn.Site, c Config) nn.Layer {
	at.Rotary = nn.NewRoPE(at.At("rope"), c.QKSize, c.RopeTheta)
	return nil
}

func checkRope(c Config) error {
	if c.QKSize%2 != 0 {
		return errors.Errorf("qk_size: got %d, want an even number, such as %d, for rotary positions, which turn pairs", c.QKSize, c.QKSize+1)
	}
	return nil
}

func alibi(at *nn.Site, c Config) nn.Layer {
	at.Scores = nn.NewALiBi(c.NHead)
	return nil
}
