package parts

import (
	"cmp"

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
	scaling := Find(ropeScalings(), s.RopeScaling)
	if scaling.build == nil {
		return nn.Placement{Rotary: nn.NewPartialRoPE(at.At("rope"), at.QK, s.RotaryDim(), s.RopeTheta)}
	}
	of := scaling.build(s)
	return nn.Placement{Rotary: nn.NewScaledRoPE(at.At("rope"), at.QK, s.RotaryDim(), s.RopeTheta, of)}
}

// localRotary returns the rotation in blocks of attention gqa_window with a window, or nil if it is that of the others.
func localRotary(at nn.Site, s Stack) nn.Rotary {
	if s.RopeLocalBaseFreq == 0 {
		return nil
	}
	return nn.NewPartialRoPE(at.At("rope_local"), at.QK, s.RotaryDim(), s.RopeLocalBaseFreq)
}

// ropeScaling is a way to stretch rotary positions over a context that is longer than that of the training. build is
// nil for none.
type ropeScaling struct {
	Name
	build    func(s Stack) nn.RotaryScaling
	original bool // it reads the size of the context in training
}

// yarn is the name of the scaling that reads further numbers.
const yarn = "yarn"

// ropeScalings lists the scalings of rotary positions, the default first. Their names are Hugging Face's.
func ropeScalings() []ropeScaling {
	return []ropeScaling{
		{Name: noPart},
		{"linear", func(s Stack) nn.RotaryScaling { return nn.LinearScaling{Factor: s.RopeFactor} }, false},
		{"llama3", func(s Stack) nn.RotaryScaling {
			return nn.Llama3Scaling{Factor: s.RopeFactor, Original: s.RopeOriginal}
		}, true},
		{yarn, func(s Stack) nn.RotaryScaling {
			return nn.YaRN{
				Factor: s.RopeFactor, Original: s.RopeOriginal, Fast: s.RopeBetaFast, Slow: s.RopeBetaSlow,
				Unrounded: s.RopeUnrounded, Scale: s.RopeAttentionFactor,
			}
		}, true},
	}
}

// checkScaling returns an error if the settings of the scaling do not fit together.
func (d Design) checkScaling() error {
	s := d.Stack
	scaling := Find(ropeScalings(), s.RopeScaling)
	switch {
	case scaling.build != nil && s.Position != "rope":
		return errors.Errorf("rope_scaling: got %s, want %s with position %s, which is not rope",
			s.RopeScaling, noPart, s.Position)
	case scaling.build != nil && !(s.RopeFactor > 1):
		return errors.Errorf("rope_factor: got %v, want more than 1 with rope_scaling %s", s.RopeFactor, s.RopeScaling)
	case scaling.build == nil && s.RopeFactor != 0:
		return errors.Errorf("rope_factor: got %v, want 0 with rope_scaling %s", s.RopeFactor, s.RopeScaling)
	case scaling.original && s.RopeOriginal == 0:
		return errors.Errorf("rope_original: got 0, want the context in training with rope_scaling %s", s.RopeScaling)
	case !scaling.original && s.RopeOriginal != 0:
		return errors.Errorf("rope_original: got %d, want 0 with rope_scaling %s, which does not read it",
			s.RopeOriginal, s.RopeScaling)
	}
	return d.checkYaRN()
}

// checkYaRN returns an error if the numbers of YaRN do not fit together, or if the scaling does not read them.
func (d Design) checkYaRN() error {
	s := d.Stack
	if s.RopeScaling != yarn {
		for _, f := range s.yarnFields() {
			if got := f.String(); got != "0" && got != "false" {
				return errors.Errorf("%s: got %s, want its default with rope_scaling %s, which does not read it",
					f.Name, got, s.RopeScaling)
			}
		}
		return nil
	}
	fast, slow := cmp.Or(s.RopeBetaFast, 32), cmp.Or(s.RopeBetaSlow, 1)
	switch {
	case !(s.RopeTheta > 1):
		return errors.Errorf("rope_theta: got %v, want more than 1 with rope_scaling yarn", s.RopeTheta)
	case !(fast > slow):
		return errors.Errorf("rope_beta_fast: got %v, want more than rope_beta_slow %v", fast, slow)
	}
	return nil
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
