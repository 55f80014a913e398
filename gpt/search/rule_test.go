package search

import (
	"errors"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// turns is a Rule that permits one token after the other, and then ends the text.
type turns struct {
	ids  []int
	seen []int
}

func (r *turns) Apply(logits []float64) error {
	if len(r.seen) == len(r.ids) {
		return ErrEnd
	}
	for id := range logits {
		if id != r.ids[len(r.seen)] {
			logits[id] = math.Inf(-1)
		}
	}
	return nil
}

func (r *turns) Drawn(id int) error {
	r.seen = append(r.seen, id)
	return nil
}

// The rules decide which tokens are drawn, also at temperature 0, and learn of them.
func TestRules(t *testing.T) {
	logits := graph.Tensor{Shape: []int{4}, F64: []float64{3, 1, 2, 0}}
	for _, temperature := range []float64{0, 1} {
		s, r := NewSampler(1), &turns{ids: []int{3, 1}}
		s.Temperature, s.TopK, s.Rules = temperature, 2, []Rule{Bias{0: 50}, r}
		for _, want := range r.ids {
			if id, err := s.Draw(logits); err != nil || id != want {
				t.Errorf("temperature %v: got %d and %v, want %d", temperature, id, err, want)
			}
			if want := logits.F64[r.seen[len(r.seen)-1]] - math.Log(math.Exp(3)+math.Exp(1)+math.Exp(2)+1); math.Abs(
				s.LogProb()-want) > 1e-12 {
				t.Errorf("got the log-probability %v, want %v: before the rules", s.LogProb(), want)
			}
		}
		if _, err := s.Draw(logits); !errors.Is(err, ErrEnd) {
			t.Errorf("after the last: got error %v, want %v", err, ErrEnd)
		}
	}
	s := NewSampler(1)
	s.Rules = []Rule{Bias{2: 60}}
	for range 9 {
		if id, err := s.Draw(logits); err != nil || id != 2 {
			t.Errorf("a bias of 60: got %d and %v, want 2", id, err)
		}
	}
}

// What a rule cannot do is an error.
func TestRulesRefuse(t *testing.T) {
	logits := graph.Tensor{Shape: []int{2}, F64: []float64{3, 1}}
	inf := math.Inf(1)
	for want, r := range map[string]Rule{
		"got the token 2, want 0 to 1": Bias{2: 1}, "got the token -1": Bias{-1: 1},
		"token 0: got NaN":  Bias{0: math.NaN()},
		"token 1: got +Inf": Bias{1: inf}, "forbid every token": Bias{0: -inf, 1: -inf}, "rule 0 is nil": nil,
	} {
		s := NewSampler(1)
		s.Rules = []Rule{r}
		_, err := s.Draw(logits)
		mustContain(t, err, want)
	}
	s := NewSampler(1)
	s.Rules = []Rule{Bias{0: math.MaxFloat64}, Bias{0: math.MaxFloat64}}
	_, err := s.Draw(logits)
	mustContain(t, err, "a rule: the logit of token 0 is +Inf")
}
