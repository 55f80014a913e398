package nn

import (
	"math"

	"github.com/pkg/errors"
)

// ALiBi is attention with linear biases (Press et al. 2022): nothing is added to the activations, but every score is
// reduced by the distance of its key times a slope, which differs between the heads,
//
//	score_ij − m_h·|i − j|,  m_h = 2^(−8h/H),  h = 1 … H
//
// In causal attention this is the same as + m_h·j: what all keys of a query have in common cancels in a softmax. If H
// is not a power of two, the slopes are those of the next smaller one, P, followed by every other one of 2P, starting
// with the first, as in the authors' program. CS 224n's (13) has one key too many and no slope (errata S1).
type ALiBi struct {
	Slopes []float64 // m_h
}

// NewALiBi returns the slopes for the given number of heads, for use with NewBiasedMask.
func NewALiBi(heads int) ALiBi {
	slope := func(h, of int) float64 { return math.Exp2(-8 * float64(h) / float64(of)) }
	if heads > 1<<20 { // more than any model has: Check returns an error
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

// Bias returns −m_h·|i − j|, or NaN for a head without a slope.
func (a ALiBi) Bias(head, i, j int) float64 {
	if head < 0 || head >= len(a.Slopes) {
		return math.NaN()
	}
	return a.Slopes[head] * float64(min(i-j, j-i))
}

// Check returns an error if the number of slopes is not the number of heads, or if a slope is not finite.
func (a ALiBi) Check(d Dims) error {
	if len(a.Slopes) != d.Heads {
		return errors.Errorf("%d slopes for %d heads", len(a.Slopes), d.Heads)
	}
	for h, m := range a.Slopes {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return errors.Errorf("slope %v of head %d is not finite", m, h)
		}
	}
	return nil
}
