package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Position is a way to encode the positions of tokens.
type Position struct {
	Name
	Check func(d nn.Dims) error // optional; its error names the invalid field and both numbers
	New   func(at nn.Site, s Stack) nn.Placement
}

// Positions lists the library's positions, the default first.
func Positions() []Position {
	return []Position{
		{Name: "learned", New: learned},
		{Name: "sinusoidal", New: sinusoidal, Check: checkSinusoidal},
		{Name: "rope", New: rope, Check: checkRoPE},
		{Name: "alibi", New: alibi},
		{Name: "none", New: func(nn.Site, Stack) nn.Placement { return nn.Placement{} }},
	}
}

func learned(at nn.Site, _ Stack) nn.Placement {
	return nn.Placement{Layer: nn.NewLearnedPositions(at.At("wpe"))}
}

func sinusoidal(at nn.Site, _ Stack) nn.Placement {
	return nn.Placement{Layer: nn.NewSinusoidal(at.At("wpe"), 10_000)}
}

func checkSinusoidal(d nn.Dims) error {
	return wantEven("n_embd", d.Embd, "sinusoidal positions, which come in pairs")
}

func rope(at nn.Site, s Stack) nn.Placement {
	return nn.Placement{Rotary: nn.NewPartialRoPE(at.At("rope"), at.QK, s.rotaryDim(), s.RopeTheta)}
}

func checkRoPE(d nn.Dims) error {
	return wantEven("qk_size", d.QK, "rotary positions, which rotate pairs")
}

func wantEven(field string, got int, reason string) error {
	if got%2 == 0 {
		return nil
	}
	return errors.Errorf("%s: got %d, want an even number, such as %d, for %s", field, got, got+1, reason)
}

func alibi(at nn.Site, _ Stack) nn.Placement {
	if at.Graph().Outlined() {
		return nn.Placement{Scores: nn.ALiBi{}} // the shape of a mask does not depend on slopes
	}
	return nn.Placement{Scores: nn.NewALiBi(at.Heads)}
}
