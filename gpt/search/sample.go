// Package search finds the next tokens of texts: a Sampler draws them from logits, Greedy takes the likeliest one, and
// Beam compares several continuations. Start with NewSampler.
package search

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

// Sampler draws a token from logits z. It applies its settings in this order, and normalises the probabilities again
// after every cut:
//
//	z/θ where z > 0, else z·θ, of each token of the text so far    θ = RepetitionPenalty, Keskar et al. 2019
//	z − FrequencyPenalty·n − PresencePenalty·[n > 0]               n: times that this Sampler has drawn the token
//	the Rules, in their order, which add to z or forbid a token
//	p = softmax(z/Temperature)                                     (Diab 13)
//	the TopK likeliest tokens
//	the fewest of these whose probabilities add up to TopP         (Diab 14)
//	of these the tokens with p ≥ MinP·max p                        Nguyen et al. 2024
//
// This is the order of Hugging Face's transformers; llama.cpp applies the temperature last, which leaves other tokens.
// Temperature 0 is greedy: it chooses the token with the largest logit after the penalty, the first one among equals.
// The second line is OpenAI's rule; it counts draws since one of its penalties was set, so such a Sampler is for one
// text. A Sampler draws for one goroutine at a time.
type Sampler struct {
	Temperature       float64
	TopK              int     // 0: all
	TopP              float64 // 0 or 1: all
	MinP              float64 // 0: all
	RepetitionPenalty float64 // 0 or 1: none; above 1 a text repeats itself less
	FrequencyPenalty  float64 // 0: none; above 0 a token becomes less likely each time it is drawn
	PresencePenalty   float64 // 0: none; above 0 a token becomes less likely once it was drawn
	Rules             []Rule  // of this text; none by default
	rng               *rand.Rand
	drawn             map[int]int // number of draws of a token, if there is one of the two penalties above
	choices           []choice
	ruled             []float64 // logits of the rules
	last              lastDraw
	busy              sync.Mutex // held while it draws
}

// NewSampler returns a sampler at temperature 1 over all tokens. The seed determines its draws.
func NewSampler(seed uint64) *Sampler {
	return &Sampler{Temperature: 1, rng: rand.New(rand.NewPCG(seed, 0x73616d706c65))}
}

// Validate returns an error that names a field out of range.
func (s *Sampler) Validate() error {
	switch {
	case s == nil:
		return errors.New("sampler: got nil, want one from NewSampler")
	case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 1):
		return errors.Errorf("temperature: got %v, want a finite number, 0 or above", s.Temperature)
	case s.TopK < 0:
		return errors.Errorf("top_k: got %d, want 0 for all tokens, or above", s.TopK)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return errors.Errorf("top_p: got %v, want a number in [0, 1]", s.TopP)
	case !(s.MinP >= 0 && s.MinP <= 1):
		return errors.Errorf("min_p: got %v, want a number in [0, 1]", s.MinP)
	case !(s.RepetitionPenalty >= 0) || math.IsInf(s.RepetitionPenalty, 1):
		return errors.Errorf("repetition_penalty: got %v, want a finite number above 0, or 0 for none",
			s.RepetitionPenalty)
	case math.IsNaN(s.FrequencyPenalty) || math.IsInf(s.FrequencyPenalty, 0):
		return errors.Errorf("frequency_penalty: got %v, want a finite number", s.FrequencyPenalty)
	case math.IsNaN(s.PresencePenalty) || math.IsInf(s.PresencePenalty, 0):
		return errors.Errorf("presence_penalty: got %v, want a finite number", s.PresencePenalty)
	case s.Temperature > 0 && s.rng == nil:
		return errors.Errorf("sampler: temperature %v and nothing to draw with, want one from NewSampler",
			s.Temperature)
	}
	for i, r := range s.Rules {
		if r == nil {
			return errors.Errorf("rules: rule %d is nil, want one such as Bias", i)
		}
	}
	return nil
}

// Draw returns a token id. before holds the tokens of the text so far, including the prompt's, in any order; only a
// RepetitionPenalty uses them. It returns ErrEnd if a Rule ends the text.
func (s *Sampler) Draw(logits graph.Tensor, before ...int) (int, error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	if !s.busy.TryLock() {
		return 0, errors.New("sampler: in use by another goroutine, want one for each")
	}
	defer s.busy.Unlock()
	s.last = lastDraw{}
	best, err := s.read(logits, before)
	if err != nil {
		return 0, err
	}
	id := best.id
	if s.Temperature > 0 {
		for i, c := range s.choices {
			s.choices[i].p = elementary.Exp((c.p - best.p) / s.Temperature)
		}
		s.cut()
		id = s.pick()
	}
	s.count(id)
	s.last = lastDraw{id, logits.F32, logits.F64}
	return id, s.tell(id)
}

// read makes a choice of every logit, and returns the one with the largest logit.
func (s *Sampler) read(logits graph.Tensor, before []int) (best choice, err error) {
	s.choices = s.choices[:0]
	for i := range logits.Len() {
		z := logits.At(i)
		if math.IsNaN(z) || math.IsInf(z, 1) {
			return best, errors.Wrapf(graph.ErrNotFinite, "the logit of token %d is %v", i, z)
		}
		s.choices = append(s.choices, choice{i, z})
	}
	if len(s.choices) == 0 {
		return best, errors.New("sampler: no logits")
	}
	if err := s.penalise(logits, before); err != nil {
		return best, err
	}
	if err := s.rule(); err != nil {
		return best, err
	}
	best = slices.MaxFunc(s.choices, func(a, b choice) int { return cmp.Compare(a.p, b.p) })
	if math.IsInf(best.p, -1) {
		return best, errors.Wrap(graph.ErrNotFinite, "all logits are -Inf")
	}
	return best, nil
}
