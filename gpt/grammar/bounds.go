package grammar

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// counts returns the bounds of a number of characters or of values by two keys; largest is −1 without a limit.
func counts(at string, o field.Object, lower, upper string) (fewest, largest int, err error) {
	largest = -1
	for key, to := range map[string]*int{lower: &fewest, upper: &largest} {
		if !o.Has(key) {
			continue
		}
		n, ok := o.Get(key).(json.Number)
		i, err := strconv.Atoi(string(n))
		if !ok || err != nil || i < 0 || i > mostCount {
			return 0, 0, errors.Errorf("%s: %s: got %s, want 0 to %d", at, key, shown(o.Get(key)), mostCount)
		}
		*to = i
	}
	if largest >= 0 && fewest > largest {
		return 0, 0, errors.Errorf("%s: %s: got %d, want at most %s, %d", at, lower, fewest, upper, largest)
	}
	return fewest, largest, nil
}

// bounded returns the set of the numbers between the bounds of a schema.
func bounded(at string, o field.Object, integer bool) (set, error) {
	r := interval{places: placesOfNumber, before: beforeOfNumber}
	if integer {
		r = interval{before: mostDigits}
	}
	scale := new(big.Rat).SetInt64(power(r.places))
	largest := power(r.before)*power(r.places) - 1
	r.low, r.high = -largest, largest
	limited := false
	if o.Has("multipleOf") {
		limited = true
		if err := r.multiples(o.Get("multipleOf")); err != nil {
			return nil, errors.WithMessagef(err, "%s: multipleOf", at)
		}
	}
	for _, key := range keywords()["number"] {
		if !o.Has(key) || key == "multipleOf" {
			continue
		}
		limited = true
		n, ok := o.Get(key).(json.Number)
		x, valid := new(big.Rat), false
		if ok && len(n) <= 32 {
			if f, err := n.Float64(); err == nil && math.Abs(f) < float64(power(r.before)) {
				s := string(n)
				if strings.ContainsAny(s, "eE") { // whose exponent may be enormous
					s = strconv.FormatFloat(f, 'f', -1, 64)
				}
				x, valid = x.SetString(s)
			}
		}
		if !valid {
			return nil, errors.Errorf("%s: %s: got %s, want a number of at most %d digits before the point",
				at, key, shown(o.Get(key)), r.before)
		}
		x.Mul(x, scale)
		q, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int)) // q ≤ x
		floor, whole := q.Int64(), rest.Sign() == 0
		switch {
		case key == "minimum" && whole:
			r.low = max(r.low, floor)
		case key == "minimum" || key == "exclusiveMinimum":
			r.low = max(r.low, floor+1)
		case key == "maximum" || !whole:
			r.high = min(r.high, floor)
		default:
			r.high = min(r.high, floor-1)
		}
	}
	switch {
	case !limited:
		return free{integer}, nil
	case r.low > r.high || r.shortest(0) >= infinite:
		return nil, errors.Errorf("%s: no number is between its bounds", at)
	}
	return r, nil
}

// multiples restricts an interval to the multiples of a number.
func (r *interval) multiples(raw any) error {
	n, ok := raw.(json.Number)
	x, valid := new(big.Rat), false
	if ok && len(n) <= 32 && !strings.ContainsAny(string(n), "eE") {
		x, valid = x.SetString(string(n))
	}
	if x.Mul(x, new(big.Rat).SetInt64(power(r.places))); !valid || x.Sign() <= 0 {
		return errors.Errorf("got %s, want a number above 0 without an exponent", shown(raw))
	}
	if r.places == 0 { // the integers among the multiples of a/b are the multiples of a
		x.SetInt(x.Num())
	}
	if !x.IsInt() || !x.Num().IsInt64() || x.Num().Int64() > power(r.before)*power(r.places) {
		return errors.Errorf("got %s, want at most %d digits after the point and %d before it", shown(raw), r.places,
			r.before)
	}
	r.multiple = x.Num().Int64()
	return nil
}
