package gpt

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Sampler draws a token from logits z: from softmax(z/Temperature) (Diab 13), cut to the TopK likeliest tokens and then
// to the fewest whose probabilities add up to TopP (Diab 14), and normalised again. Temperature 0 is greedy: the
// likeliest token, the first of equals. It draws for one goroutine at a time.
type Sampler struct {
	Temperature float64
	TopK        int     // 0: all
	TopP        float64 // 0 or 1: all
	rng         *rand.Rand
	choices     []choice
	busy        sync.Mutex // held while it draws
}

type choice struct {
	id int
	p  float64
}

// NewSampler is a sampler at temperature 1 over all tokens; its draws are fixed by the seed.
func NewSampler(seed uint64) *Sampler {
	return &Sampler{Temperature: 1, rng: rand.New(rand.NewPCG(seed, 0x73616d706c65))}
}

// Validate names a field that is out of range.
func (s *Sampler) Validate() error {
	switch {
	case s == nil:
		return errors.New("sampler: got nil, want one of NewSampler")
	case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 1):
		return errors.Errorf("temperature: got %v, want a finite number, 0 or above", s.Temperature)
	case s.TopK < 0:
		return errors.Errorf("top_k: got %d, want 0 for all tokens, or above", s.TopK)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return errors.Errorf("top_p: got %v, want a number in [0, 1]", s.TopP)
	case s.Temperature > 0 && s.rng == nil:
		return errors.Errorf("sampler: temperature %v and nothing to draw with, want one of NewSampler", s.Temperature)
	}
	return nil
}

// Draw returns a token id.
func (s *Sampler) Draw(logits graph.Tensor) (int, error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	if !s.busy.TryLock() {
		return 0, errors.New("sampler: in use by another goroutine, want one for each")
	}
	defer s.busy.Unlock()
	s.choices = s.choices[:0]
	for i := range logits.Len() {
		z := logits.At(i)
		if math.IsNaN(z) || math.IsInf(z, 1) {
			return 0, errors.Wrapf(graph.ErrNotFinite, "the logit of token %d is %v", i, z)
		}
		s.choices = append(s.choices, choice{i, z})
	}
	if len(s.choices) == 0 {
		return 0, errors.New("sampler: no logits")
	}
	best := slices.MaxFunc(s.choices, func(a, b choice) int { return cmp.Compare(a.p, b.p) })
	if math.IsInf(best.p, -1) {
		return 0, errors.Wrap(graph.ErrNotFinite, "all logits are -Inf")
	}
	if s.Temperature == 0 {
		return best.id, nil
	}
	for i, c := range s.choices {
		s.choices[i].p = math.Exp((c.p - best.p) / s.Temperature)
	}
	s.cut()
	return s.pick(), nil
}

// cut keeps the TopK likeliest and of these the fewest that reach TopP. The sort is stable, so equals keep their order.
func (s *Sampler) cut() {
	all := (s.TopK == 0 || s.TopK >= len(s.choices)) && (s.TopP == 0 || s.TopP == 1)
	if all {
		return
	}
	slices.SortStableFunc(s.choices, func(a, b choice) int { return cmp.Compare(b.p, a.p) })
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
