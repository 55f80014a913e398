package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// choice is a token that may be drawn.
type choice struct {
	id int
	p  float64 // its logit, then its probability relative to the likeliest token's
}

// penalise makes tokens that are in the text less likely.
func (s *Sampler) penalise(logits graph.Tensor, before []int) error {
	if err := s.penaliseRepetition(logits, before); err != nil {
		return err
	}
	if s.FrequencyPenalty == 0 && s.PresencePenalty == 0 {
		return nil
	}
	for id, n := range s.drawn {
		if id >= len(s.choices) {
			return errors.Errorf("sampler: token %d was drawn before, not in 0 … %d", id, len(s.choices)-1)
		}
		z := s.choices[id].p - float64(s.FrequencyPenalty*float64(n)) - s.PresencePenalty
		if math.IsNaN(z) || math.IsInf(z, 1) {
			return errors.Wrapf(graph.ErrNotFinite, "the logit of token %d, drawn %d times, with a frequency_penalty "+
				"of %v and a presence_penalty of %v is %v", id, n, s.FrequencyPenalty, s.PresencePenalty, z)
		}
		s.choices[id].p = z
	}
	return nil
}

// count counts a draw, if a penalty needs it.
func (s *Sampler) count(id int) {
	switch {
	case s.FrequencyPenalty == 0 && s.PresencePenalty == 0:
		s.drawn = nil
	case s.drawn == nil:
		s.drawn = map[int]int{id: 1}
	default:
		s.drawn[id]++
	}
}

// penaliseRepetition starts from the logit, so a token counts once regardless of how often it occurs.
func (s *Sampler) penaliseRepetition(logits graph.Tensor, before []int) error {
	if s.RepetitionPenalty == 0 || s.RepetitionPenalty == 1 {
		return nil
	}
	for i, id := range before {
		if id < 0 || id >= len(s.choices) {
			return errors.Errorf("sampler: token %d of the text is %d, not in 0 … %d", i, id, len(s.choices)-1)
		}
		z := logits.At(id)
		if z > 0 {
			z /= s.RepetitionPenalty
		} else {
			z *= s.RepetitionPenalty
		}
		if math.IsInf(z, 1) {
			return errors.Wrapf(graph.ErrNotFinite, "the logit of token %d with a repetition_penalty of %v is %v",
				id, s.RepetitionPenalty, z)
		}
		s.choices[id].p = z
	}
	return nil
}

// cut keeps the TopK likeliest tokens, of these the fewest that reach TopP, and of these the ones that reach MinP.
func (s *Sampler) cut() {
	s.cutTop()
	if s.MinP > 0 {
		s.choices = slices.DeleteFunc(s.choices, func(c choice) bool { return c.p < s.MinP })
	}
}

// cutTop keeps and sorts the TopK likeliest tokens, and cuts them at TopP.
func (s *Sampler) cutTop() {
	all := (s.TopK == 0 || s.TopK >= len(s.choices)) && (s.TopP == 0 || s.TopP == 1)
	if all {
		return
	}
	if s.TopK > 0 && s.TopK < len(s.choices) {
		partition(s.choices, s.TopK)
		s.choices = s.choices[:s.TopK]
	}
	slices.SortFunc(s.choices, byLikelihood)
	if s.TopP == 0 || s.TopP == 1 {
		return
	}
	var sum, total float64
	for _, c := range s.choices {
		total += c.p
	}
	for i, c := range s.choices {
		if sum += c.p; sum >= s.TopP*total {
			s.choices = s.choices[:i+1]
			return
		}
	}
}

// byLikelihood orders the likelier token first, and among equals the one with the smaller id.
func byLikelihood(a, b choice) int {
	if c := cmp.Compare(b.p, a.p); c != 0 {
		return c
	}
	return cmp.Compare(a.id, b.id)
}

// partition moves the k likeliest to the front, in any order (Hoare's quickselect). Sorting a vocabulary of 50,257
// tokens takes several times as long.
func partition(choices []choice, k int) {
	for from, to := 0, len(choices); ; {
		pivot, i, j := choices[(from+to)/2], from, to-1
		for i <= j {
			for byLikelihood(choices[i], pivot) < 0 {
				i++
			}
			for byLikelihood(pivot, choices[j]) < 0 {
				j--
			}
			if i <= j {
				choices[i], choices[j] = choices[j], choices[i]
				i, j = i+1, j-1
			}
		}
		switch { // before i nothing is worse than the pivot, after j nothing is better
		case k <= j:
			to = j + 1
		case k > i:
			from = i
		default:
			return
		}
	}
}

func (s *Sampler) pick() int {
	var total float64
	for _, c := range s.choices {
		total += c.p
	}
	u := s.rng.Float64() * total
	for _, c := range s.choices {
		if u -= c.p; u < 0 {
			return c.id
		}
	}
	return s.choices[len(s.choices)-1].id
}
