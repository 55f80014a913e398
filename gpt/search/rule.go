package search

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// ErrEnd is the error of a Rule that ends the text: no token follows. Those who draw tokens treat it as the end of the
// text, not as a failure.
var ErrEnd = errors.New("sampler: a rule ends the text")

// Rule decides before each token which ones may follow. A Rule is for one text.
type Rule interface {
	// Apply changes the logits after the penalties, in place: −Inf forbids a token. It returns ErrEnd if the text is
	// complete and no token follows.
	Apply(logits []float64) error
	// Drawn tells the Rule which token was drawn.
	Drawn(id int) error
}

// Bias is a Rule that adds numbers to the logits of tokens, as OpenAI's logit_bias does: zᵢ + Bias[i].
type Bias map[int]float64

// Apply adds the numbers. It returns an error that names a token outside the vocabulary or a number that is NaN or
// +Inf.
func (b Bias) Apply(logits []float64) error {
	for id, bias := range b {
		if id < 0 || id >= len(logits) {
			return errors.Errorf("bias: got the token %d, want 0 to %d", id, len(logits)-1)
		}
		if math.IsNaN(bias) || math.IsInf(bias, 1) {
			return errors.Errorf("bias: token %d: got %v, want a finite number or −Inf", id, bias)
		}
		logits[id] += bias
	}
	return nil
}

// Drawn does nothing: the numbers are the same for every token.
func (Bias) Drawn(int) error { return nil }

// rule applies the rules to the logits of the choices, and removes those that are forbidden.
func (s *Sampler) rule() error {
	if len(s.Rules) == 0 {
		return nil
	}
	s.ruled = s.ruled[:0]
	for _, c := range s.choices {
		s.ruled = append(s.ruled, c.p)
	}
	for _, r := range s.Rules {
		if err := r.Apply(s.ruled); err != nil {
			return err
		}
	}
	s.choices = s.choices[:0]
	for id, z := range s.ruled {
		switch {
		case math.IsNaN(z) || math.IsInf(z, 1):
			return errors.Wrapf(graph.ErrNotFinite, "a rule: the logit of token %d is %v", id, z)
		case !math.IsInf(z, -1):
			s.choices = append(s.choices, choice{id, z})
		}
	}
	if len(s.choices) == 0 {
		return errors.New("sampler: the rules forbid every token")
	}
	return nil
}

// tell tells the rules which token was drawn.
func (s *Sampler) tell(id int) error {
	for _, r := range s.Rules {
		if err := r.Drawn(id); err != nil {
			return err
		}
	}
	return nil
}
