package lab

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// ParseBudget reads a list such as "tokens=1e6,parameters=800000,vary=n_embd". The names are steps, tokens, flops and
// seconds, and besides parameters and vary. An error names the element that is wrong. Study checks that the budget can
// be spent.
func ParseBudget(list string) (b Budget, err error) {
	seen := map[string]bool{}
	for _, w := range words(list) {
		name, value, _ := strings.Cut(w, "=")
		if seen[name] {
			return b, errors.Errorf("got %s twice", name)
		}
		seen[name] = true
		if name == "vary" {
			b.Vary = value
			continue
		}
		x, err := strconv.ParseFloat(value, 64)
		whole := x == float64(int64(x))
		switch {
		case err != nil || !(x > 0):
			return b, errors.Errorf("got %q, want name=number above 0 such as tokens=1e6", w)
		case name == "steps" && whole && x <= 1<<28:
			b.Steps = int(x)
		case name == "parameters" && whole && x <= 1<<53:
			b.Parameters = int64(x)
		case name == "tokens":
			b.Tokens = x
		case name == "flops":
			b.FLOPs = x
		case name == "seconds":
			b.Seconds = x
		default:
			names := []string{"steps", "parameters", "tokens", "flops", "seconds", "vary"}
			return b, errors.Errorf("got %q, want steps or parameters, a whole number, or tokens, flops or seconds%s",
				w, spelling.Hint(name, names))
		}
	}
	if b.Vary != "" && b.Parameters == 0 {
		return b, errors.New("vary: got a field without parameters=N")
	}
	return b, nil
}

// ParseGrid reads the lists of a tuning, such as "learning_rate=3e-4,1e-3", of at least two values each. Study checks
// the
// names and the values.
func ParseGrid(lists []string) (grid []Values, err error) {
	for _, l := range lists {
		name, values, _ := strings.Cut(l, "=")
		if len(words(values)) < 2 {
			return nil, errors.Errorf("got %q, want at least two values such as learning_rate=3e-4,1e-3", l)
		}
		if slices.ContainsFunc(grid, func(v Values) bool { return v.Field == name }) {
			return nil, errors.Errorf("got %s twice", name)
		}
		grid = append(grid, Values{Field: name, Values: words(values)})
	}
	return grid, nil
}

// words returns the elements of a list with commas or spaces between them.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
