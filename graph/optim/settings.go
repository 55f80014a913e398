package optim

import (
	"math"

	"github.com/pkg/errors"
)

// setting is a number of an optimizer that must lie in a range.
type setting struct {
	name  string
	value float64
	ok    bool
	want  string
}

func fraction(name string, x float64) setting {
	return setting{name, x, x >= 0 && x < 1, "0 ≤ x < 1"}
}

func notNegative(name string, x float64) setting {
	return setting{name, x, x >= 0 && !math.IsInf(x, 0), "x ≥ 0"}
}

// check returns the error of the first setting that is out of range.
func check(settings ...setting) error {
	for _, s := range settings {
		if !s.ok {
			return errors.Errorf("%s: got %v, want a number, %s", s.name, s.value, s.want)
		}
	}
	return nil
}
