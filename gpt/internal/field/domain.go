package field

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
)

// MaxSize is the upper bound of every size and count of a configuration: four times a size still fits in 32 bits, and
// the product of two sizes in 64.
const MaxSize = 1 << 28

// Domain is the set of values that a field may take: numbers for which has is true, or texts for which reads is. If
// both are nil, it is any value of the field's type.
type Domain struct {
	want  string
	has   func(float64) bool // false for NaN
	reads func(string) bool
	hint  func(string) string // says what is wrong with a text that is not read, or what was probably meant
}

// Any returns the domain of all values of the field's type.
func Any() Domain { return Domain{} }

// Size returns the whole numbers from lo to MaxSize.
func Size(lo int) Domain { return between(lo, MaxSize) }

// UpTo returns the whole numbers from 0 to hi.
func UpTo(hi int) Domain { return between(0, hi) }

func between(lo, hi int) Domain {
	return Domain{
		want: fmt.Sprintf("a whole number, %d to %d", lo, hi),
		has:  func(x float64) bool { return float64(lo) <= x && x <= float64(hi) },
	}
}

// Fraction returns the numbers 0 ≤ x < 1.
func Fraction() Domain {
	return Domain{want: "a number, 0 ≤ x < 1", has: func(x float64) bool { return 0 <= x && x < 1 }}
}

// ProperFraction returns the numbers 0 < x < 1.
func ProperFraction() Domain {
	return Domain{want: "a number, 0 < x < 1", has: func(x float64) bool { return 0 < x && x < 1 }}
}

// NonNegative returns the finite numbers, 0 or more.
func NonNegative() Domain {
	return Domain{
		want: "a finite number, 0 or more",
		has:  func(x float64) bool { return 0 <= x && x <= math.MaxFloat64 },
	}
}

// Positive returns the finite numbers above 0.
func Positive() Domain {
	return Domain{want: "a finite number above 0", has: func(x float64) bool { return 0 < x && x <= math.MaxFloat64 }}
}

// Uint64 returns all numbers of type uint64.
func Uint64() Domain {
	return Domain{want: fmt.Sprintf("a whole number, 0 to %d", uint64(math.MaxUint64))}
}

// OneOf returns the given names, and the empty name, which means the default.
func OneOf(names ...string) Domain {
	if names == nil {
		return Domain{}
	}
	return Text("one of "+strings.Join(names, ", "), func(s string) bool { return slices.Contains(names, s) }).
		Hinted(func(s string) string { return spelling.Hint(s, names) })
}

// Text returns the texts for which reads is true, and the empty text, which means the default.
func Text(want string, reads func(string) bool) Domain { return Domain{want: want, reads: reads} }

// Hinted returns the domain with a hint, which ends the error of a text outside the domain.
func (d Domain) Hinted(hint func(text string) string) Domain {
	d.hint = hint
	return d
}
