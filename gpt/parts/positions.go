package parts

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Position is a way to encode the positions of tokens.
type Position struct {
	Name
	Check func(d nn.Dims) error // optional; its error names the invalid field and both numbers
	New   func(at nn.Site, s Stack) nn.Placement
}

// Rope holds the settings of rotary positions.
type Rope struct {
	Theta float64 // base of the frequencies; by default 10000
	// PartialRotaryFactor is the share of the features of a head that rotate; 0 means all.
	PartialRotaryFactor float64
	// LocalBaseFreq is the base in blocks of attention gqa_window with a window, without Scaling; 0 means that these
	// have the positions of the others.
	LocalBaseFreq float64
	Scaling       string  // for contexts longer than in training
	Factor        float64 // of Scaling; 0 without
	Original      int     // number of tokens of the context in training, for some of them; otherwise 0
	// BetaFast and BetaSlow are the numbers of turns that are the borders of YaRN; by default 32 and 1.
	BetaFast, BetaSlow float64
	Unrounded          bool // YaRN does not round the indices of its borders
	// AttentionFactor is the factor of YaRN and LongRoPE on rotated features. By default it is 0.1·ln f + 1 for YaRN,
	// and √(1 + ln f/ln Original), or 1 for f ≤ 1, for LongRoPE, with f = Factor.
	AttentionFactor float64
	// ShortFactor and LongFactor are LongRoPE's divisors of the frequencies of all pairs, with commas between them:
	// for contexts up to Original, and for longer ones.
	ShortFactor, LongFactor string
	// NoRopeLayerInterval is k if blocks k, 2k, …, counted from 1, have no rotary positions; 0 means no such block.
	NoRopeLayerInterval int
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
	scaling := Find(ropeScalings(), s.Rope.Scaling)
	if scaling.build == nil {
		return nn.Placement{Rotary: nn.NewPartialRoPE(at.At("rope"), at.QK, s.RotaryDim(), s.Rope.Theta)}
	}
	of := scaling.build(s.Rope, at.Context)
	return nn.Placement{Rotary: nn.NewScaledRoPE(at.At("rope"), at.QK, s.RotaryDim(), s.Rope.Theta, of)}
}

// localRotary returns the rotation in blocks of attention gqa_window with a window, or nil if it is the others'.
func localRotary(at nn.Site, s Stack) nn.Rotary {
	if s.Rope.LocalBaseFreq == 0 {
		return nil
	}
	return nn.NewPartialRoPE(at.At("rope_local"), at.QK, s.RotaryDim(), s.Rope.LocalBaseFreq)
}

// ropeScaling is a way to stretch rotary positions over a context that is longer than the training's. build is nil for
// none.
type ropeScaling struct {
	Name
	build    func(r Rope, context int) nn.RotaryScaling
	original bool // it reads the size of the context in training
}

// yarn and longrope are the names of the scalings that read further numbers.
const yarn, longrope = "yarn", "longrope"

// ropeScalings lists the scalings of rotary positions, the default first. Their names are Hugging Face's.
func ropeScalings() []ropeScaling {
	return []ropeScaling{
		{Name: noPart},
		{"linear", func(r Rope, _ int) nn.RotaryScaling { return nn.LinearScaling{Factor: r.Factor} }, false},
		{"llama3", func(r Rope, _ int) nn.RotaryScaling {
			return nn.Llama3Scaling{Factor: r.Factor, Original: r.Original}
		}, true},
		{yarn, func(r Rope, _ int) nn.RotaryScaling {
			return nn.YaRN{
				Factor: r.Factor, Original: r.Original, Fast: r.BetaFast, Slow: r.BetaSlow,
				Unrounded: r.Unrounded, Scale: r.AttentionFactor,
			}
		}, true},
		{longrope, func(r Rope, context int) nn.RotaryScaling { return r.longRoPE(context) }, true},
	}
}

// longRoPE returns the scaling of LongRoPE. The size of the context, block_size, chooses the list of factors, as in
// llama.cpp: Hugging Face's programs choose it by the length of a text.
func (r Rope) longRoPE(context int) nn.LongRoPE {
	list, scale := r.ShortFactor, r.AttentionFactor
	if context > r.Original {
		list = r.LongFactor
	}
	if scale == 0 {
		scale = math.Sqrt(1 + elementary.Log(max(1, r.Factor))/elementary.Log(float64(r.Original)))
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
	r := s.Rope
	scaling := Find(ropeScalings(), r.Scaling)
	switch {
	case scaling.build != nil && s.Position != "rope":
		return errors.Errorf("rope_scaling: got %s, want %s with position %s, which is not rope",
			r.Scaling, noPart, s.Position)
	case r.Scaling == longrope && !(r.Factor > 0):
		return errors.Errorf("rope_factor: got %v, want more than 0 with rope_scaling longrope", r.Factor)
	case scaling.build != nil && r.Scaling != longrope && !(r.Factor > 1):
		return errors.Errorf("rope_factor: got %v, want more than 1 with rope_scaling %s", r.Factor, r.Scaling)
	case scaling.build == nil && r.Factor != 0:
		return errors.Errorf("rope_factor: got %v, want 0 with rope_scaling %s", r.Factor, r.Scaling)
	case scaling.original && r.Original == 0:
		return errors.Errorf("rope_original: got 0, want the context in training with rope_scaling %s", r.Scaling)
	case !scaling.original && r.Original != 0:
		return errors.Errorf("rope_original: got %d, want 0 with rope_scaling %s, which does not read it",
			r.Original, r.Scaling)
	}
	unread := append(r.yarnFields(), r.longFields()...)
	switch r.Scaling {
	case yarn:
		unread = r.longFields()
	case longrope:
		unread = r.yarnFields().Without("rope_attention_factor")
	}
	for _, f := range unread {
		if got := f.String(); got != "0" && got != "false" && got != "" {
			return errors.Errorf("%s: got %s, want its default with rope_scaling %s, which does not read it",
				f.Name, field.Clip(got), r.Scaling)
		}
	}
	switch r.Scaling {
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
	if s.Rope.Original < 2 {
		return errors.Errorf("rope_original: got %d, want at least 2 with rope_scaling longrope", s.Rope.Original)
	}
	for _, f := range s.Rope.longFields() {
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
	fast, slow := cmp.Or(s.Rope.BetaFast, 32), cmp.Or(s.Rope.BetaSlow, 1)
	switch {
	case !(s.Rope.Theta > 1):
		return errors.Errorf("rope_theta: got %v, want more than 1 with rope_scaling yarn", s.Rope.Theta)
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
