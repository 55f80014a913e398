package gpt

import (
	"fmt"
	"math"
	"strings"
)

// domain is the set of values that a field may take: numbers for which has is
// true, or one of names, or, where both are nil, anything of the field's kind.
type domain struct {
	want  string
	has   func(float64) bool // false for NaN
	names []string
}

func anything() domain { return domain{} }

func size(lo int) domain { return between(lo, maxSize) }

func upTo(hi int) domain { return between(0, hi) }

func between(lo, hi int) domain {
	return domain{
		want: fmt.Sprintf("a whole number, %d to %d", lo, hi),
		has:  func(x float64) bool { return float64(lo) <= x && x <= float64(hi) },
	}
}

func fraction() domain {
	return domain{want: "a number, 0 ≤ x < 1", has: func(x float64) bool { return 0 <= x && x < 1 }}
}

func nonNegative() domain {
	return domain{want: "a finite number, 0 or more", has: func(x float64) bool { return 0 <= x && x <= math.MaxFloat64 }}
}

func positive() domain {
	return domain{want: "a finite number above 0", has: func(x float64) bool { return 0 < x && x <= math.MaxFloat64 }}
}

func oneOf(names ...string) domain {
	return domain{want: "one of " + strings.Join(names, ", "), names: names}
}
