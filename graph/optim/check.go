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

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func fraction(name string, x float64) setting {
	return setting{name, x, x >= 0 && x < 1, "0 ≤ x < 1"}
}

func positive(name string, x float64) setting {
	return setting{name, x, x > 0 && finite(x), "x > 0"}
}

func notNegative(name string, x float64) setting {
	return setting{name, x, x >= 0 && finite(x), "x ≥ 0"}
}

// check returns the error of the first setting that is out of range. It runs before anything changes.
func check(optimizer string, lr float64, steps int, settings ...setting) error {
	for _, s := range append(settings, notNegative("learning rate", lr), notNegative("steps", float64(steps))) {
		if !s.ok {
			return errors.Errorf("%s: %s: got %v, want a number, %s", optimizer, s.name, s.value, s.want)
		}
	}
	return nil
}
