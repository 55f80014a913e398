package gpt

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
	p  float64 // its logit, then its probability relative to that of the likeliest token, which has 1
}

// penalise makes tokens that are in the text less likely. It starts from the logit, so a token counts once however
// often it is there.
func (s *Sampler) penalise(logits graph.Tensor, before []int) error {
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
			return errors.Wrapf(graph.ErrNotFinite, "the logit of token %d with a repetition_penalty of %v is %v", id, s.RepetitionPenalty, z)
		}
		s.choices[id].p = z
	}
	return nil
}

// cut keeps the TopK likeliest, of these the fewest that reach TopP, and of these what reaches MinP.
func (s *Sampler) cut() {
	s.cutTop()
	if s.MinP > 0 {
		s.choices = slices.DeleteFunc(s.choices, func(c choice) bool { return c.p < s.MinP })
	}
}

// cutTop sorts for what it cuts, equals by their ids: for a large vocabulary that is many times as fast as a stable
// sort.
func (s *Sampler) cutTop() {
	all := (s.TopK == 0 || s.TopK >= len(s.choices)) && (s.TopP == 0 || s.TopP == 1)
	if all {
		return
	}
	slices.SortFunc(s.choices, func(a, b choice) int {
		if c := cmp.Compare(b.p, a.p); c != 0 {
			return c
		}
		return cmp.Compare(a.id, b.id)
	})
	if s.TopK > 0 && s.TopK < len(s.choices) {
		s.choices = s.choices[:s.TopK]
	}
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
