package nn

import (
	"math"

	"github.com/pkg/errors"
)

// ALiBi is attention with linear biases (Press et al. 2022): nothing is added to the activations, but every score loses
// the distance of its key, at a slope that each head has for itself,
//
//	score_ij − m_h·|i − j|,  m_h = 2^(−8h/H),  h = 1 … H
//
// In causal attention that is the same as + m_h·j: what all keys of a query have in common cancels in a softmax. Where
// H is no power of two the slopes are those of the next smaller one, P, and then every other one of 2P, from the first,
// as in the authors' program. CS 224n's (13) has one key too many and no slope (errata S1).
type ALiBi struct {
	Slopes []float64 // m_h
}

// NewALiBi has the slopes for that many heads. Give it to NewBiasedMask.
func NewALiBi(heads int) ALiBi {
	slope := func(h, of int) float64 { return math.Exp2(-8 * float64(h) / float64(of)) }
	if heads > 1<<20 { // more than any model has: refused by Check
		return ALiBi{}
	}
	power := 1
	for 2*power <= heads {
		power *= 2
	}
	var m []float64
	for h := range heads {
		if h < power {
			m = append(m, slope(h+1, power))
		} else {
			m = append(m, slope(2*(h-power)+1, 2*power))
		}
	}
	return ALiBi{m}
}

// Bias is −m_h·|i − j|; NaN of a head that has no slope.
func (a ALiBi) Bias(head, i, j int) float64 {
	if head < 0 || head >= len(a.Slopes) {
		return math.NaN()
	}
	return a.Slopes[head] * float64(min(i-j, j-i))
}

// Check refuses slopes for another number of heads.
func (a ALiBi) Check(d Dims) error {
	if len(a.Slopes) != d.Heads {
		return errors.Errorf("slopes for %d heads, there are %d", len(a.Slopes), d.Heads)
	}
	for h, m := range a.Slopes {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return errors.Errorf("slope %v of head %d, not a number to multiply a distance with", m, h)
		}
	}
	return nil
}
