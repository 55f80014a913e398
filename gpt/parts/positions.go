package parts

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
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
	of := scaling.build(s, at.Context)
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
	build    func(s Stack, context int) nn.RotaryScaling
	original bool // it reads the size of the context in training
}

// yarn and longrope are the names of the scalings that read further numbers.
const yarn, longrope = "yarn", "longrope"

// ropeScalings lists the scalings of rotary positions, the default first. Their names are Hugging Face's.
func ropeScalings() []ropeScaling {
	return []ropeScaling{
		{Name: noPart},
		{"linear", func(s Stack, _ int) nn.RotaryScaling { return nn.LinearScaling{Factor: s.RopeFactor} }, false},
		{"llama3", func(s Stack, _ int) nn.RotaryScaling {
			return nn.Llama3Scaling{Factor: s.RopeFactor, Original: s.RopeOriginal}
		}, true},
		{yarn, func(s Stack, _ int) nn.RotaryScaling {
			return nn.YaRN{
				Factor: s.RopeFactor, Original: s.RopeOriginal, Fast: s.RopeBetaFast, Slow: s.RopeBetaSlow,
				Unrounded: s.RopeUnrounded, Scale: s.RopeAttentionFactor,
			}
		}, true},
		{longrope, func(s Stack, context int) nn.RotaryScaling { return s.longRoPE(context) }, true},
	}
}

// longRoPE returns the scaling of LongRoPE. The size of the context, block_size, chooses the list of factors, as in
// llama.cpp: Hugging Face's programs choose it by the length of a text.
func (s Stack) longRoPE(context int) nn.LongRoPE {
	list, scale := s.RopeShortFactor, s.RopeAttentionFactor
	if context > s.RopeOriginal {
		list = s.RopeLongFactor
	}
	if scale == 0 {
		scale = math.Sqrt(1 + math.Log(max(1, s.RopeFactor))/math.Log(float64(s.RopeOriginal)))
	}
	of, _ := factors(list)
	return nn.LongRoPE{Factors: of, Scale: scale}
}

// factors returns the numbers of a list such as 1,1.25. ok is false if one of them is not above 0.
func factors(list string) (numbers []float64, ok bool) {
	for text := range strings.SplitSeq(list, ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x > 0 && x <= math.MaxFloat64) {
			return nil, false
		}
		numbers = append(numbers, x)
	}
	return numbers, true
}

// checkScaling returns an error if the settings of the scaling do not fit together.
func (d Design) checkScaling() error {
	s := d.Stack
	scaling := Find(ropeScalings(), s.RopeScaling)
	switch {
	case scaling.build != nil && s.Position != "rope":
		return errors.Errorf("rope_scaling: got %s, want %s with position %s, which is not rope",
			s.RopeScaling, noPart, s.Position)
	case s.RopeScaling == longrope && !(s.RopeFactor > 0):
		return errors.Errorf("rope_factor: got %v, want more than 0 with rope_scaling longrope", s.RopeFactor)
	case scaling.build != nil && s.RopeScaling != longrope && !(s.RopeFactor > 1):
		return errors.Errorf("rope_factor: got %v, want more than 1 with rope_scaling %s", s.RopeFactor, s.RopeScaling)
	case scaling.build == nil && s.RopeFactor != 0:
		return errors.Errorf("rope_factor: got %v, want 0 with rope_scaling %s", s.RopeFactor, s.RopeScaling)
	case scaling.original && s.RopeOriginal == 0:
		return errors.Errorf("rope_original: got 0, want the context in training with rope_scaling %s", s.RopeScaling)
	case !scaling.original && s.RopeOriginal != 0:
		return errors.Errorf("rope_original: got %d, want 0 with rope_scaling %s, which does not read it",
			s.RopeOriginal, s.RopeScaling)
	}
	unread := append(s.yarnFields(), s.longFields()...)
	switch s.RopeScaling {
	case yarn:
		unread = s.longFields()
	case longrope:
		unread = s.yarnFields().Without("rope_attention_factor")
	}
	for _, f := range unread {
		if got := f.String(); got != "0" && got != "false" && got != "" {
			return errors.Errorf("%s: got %s, want its default with rope_scaling %s, which does not read it",
				f.Name, field.Clip(got), s.RopeScaling)
		}
	}
	switch s.RopeScaling {
	case yarn:
		return d.checkYaRN()
	case longrope:
		return d.checkLongRoPE()
	}
	return nil
}

// checkLongRoPE returns an error unless there are factors for all pairs of features that rotate.
func (d Design) checkLongRoPE() error {
	s := d.Stack
	if s.RopeOriginal < 2 {
		return errors.Errorf("rope_original: got %d, want at least 2 with rope_scaling longrope", s.RopeOriginal)
	}
	for _, f := range s.longFields() {
		if of, _ := factors(f.String()); len(of) != s.RotaryDim()/2 {
			return errors.Errorf("%s: got %d factors, want %d, one for each pair of features that rotate",
				f.Name, len(of), s.RotaryDim()/2)
		}
	}
	return nil
}

// checkYaRN returns an error if the numbers of YaRN do not fit together.
func (d Design) checkYaRN() error {
	s := d.Stack
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
