package paired

import (
	"math"

	"github.com/pkg/errors"
)

const (
	mostLooks  = 20
	latestLook = 10_000
)

// A Boundary is the exponent Δ of Wang and Tsiatis (1987): the look at a share s of the seeds finds a difference if
// |z| ≥ C·s^(Δ − 1/2). A plan chooses C so that no look finds one with probability 1 − Level if there is no effect.
type Boundary float64

const (
	// OBrienFleming hardly ever ends a study early, and costs the last look almost nothing.
	OBrienFleming Boundary = 0
	// Pocock gives every look the same z.
	Pocock Boundary = 0.5
)

// A Plan is the numbers of seeds at which a study is looked at. The zero Plan looks once, at any number of seeds.
type Plan struct {
	Looks    []int // ascending
	Boundary Boundary
}

// validate returns an error that names the field if a field is wrong.
func (p Plan) validate() error {
	if !(p.Boundary >= 0 && p.Boundary <= 0.5) {
		return errors.Errorf("boundary: got %g, want 0 (O'Brien–Fleming) to 0.5 (Pocock)", float64(p.Boundary))
	}
	if len(p.Looks) > mostLooks {
		return errors.Errorf("looks: got %d, want at most %d", len(p.Looks), mostLooks)
	}
	before := 1
	for i, n := range p.Looks {
		if n <= before || n > latestLook {
			return errors.Errorf("looks[%d]: got %d seeds, want %d to %d", i, n, before+1, latestLook)
		}
		before = n
	}
	return nil
}

// Levels returns the nominal level of each look: a p below it is a verdict on a single arm. The probability of any
// verdict is Level if there is no effect. A caller reports the levels; Judge adjusts every p instead.
func (p Plan) Levels() ([]float64, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	return p.levels(Level), nil
}

// levels returns the nominal level of each look for the level of the whole study.
func (p Plan) levels(study float64) []float64 {
	shares := p.shares()
	want := quantile(study / 2)
	gap := func(c float64) float64 { return want - quantile(p.crossing(shares, c)/2) }
	c, before := want, gap(want)
	for step := before; math.Abs(step) > 1e-10; { // by secants: the z of the probability is almost straight in c
		c += step
		now := gap(c)
		step *= now / (before - now)
		before = now
	}
	levels := make([]float64, len(shares))
	for i, s := range shares {
		levels[i] = 2 * tail(c*math.Pow(s, float64(p.Boundary)-0.5))
	}
	return levels
}

// adjust returns the probability that any look of the plan reaches the boundary that goes through p at one look, if
// there is no effect. It is below Level if and only if p is below the nominal level of that look.
func (p Plan) adjust(look int, nominal float64) float64 {
	shares := p.shares()
	if len(shares) == 1 || nominal >= 1 {
		return nominal
	}
	return p.crossing(shares, quantile(nominal/2)*math.Pow(shares[look], 0.5-float64(p.Boundary)))
}

// lookOf returns the first look with as many seeds as an arm has, at most the given one: an arm with a verdict remains
// with the comparison of the look that ended it.
func (p Plan) lookOf(seeds, most int) int {
	for i, n := range p.Looks[:min(most, len(p.Looks))] {
		if seeds <= n {
			return i
		}
	}
	return most
}

// shares returns each look's share of the seeds of the last one.
func (p Plan) shares() []float64 {
	if len(p.Looks) == 0 {
		return []float64{1}
	}
	shares := make([]float64, len(p.Looks))
	for i, n := range p.Looks {
		shares[i] = float64(n) / float64(p.Looks[len(p.Looks)-1])
	}
	return shares
}
