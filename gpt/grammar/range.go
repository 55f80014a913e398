package grammar

// interval is the set of numbers between two bounds, without an exponent. Bounds and numbers are integers in units of
// 1/scale.
type interval struct {
	low, high int64
	places    int   // digits after the point; 0 for integers
	before    int   // the largest number of digits before the point
	multiple  int64 // of which the numbers are multiples; 0 or 1: of any
}

// The digits of numbers between bounds: 12 + 6 fit an int64, as do 15.
const (
	placesOfNumber = 6
	beforeOfNumber = 12
)

// power returns 10ⁿ.
func power(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func (r interval) shortest(int) int { return r.lacks(written{}) }

func (r interval) begin(b byte, _ int, next *state, out []*state) []*state {
	return between{r, written{}}.step(b, &state{next: next}, out)
}

// written is the beginning of a number.
type written struct {
	minus, point bool
	whole        int // digits before the point
	fraction     int // and after it
	value        int64
}

// after returns the beginning with another byte.
func (r interval) after(w written, b byte) (written, bool) {
	digit := b >= '0' && b <= '9'
	switch {
	case b == '-' && !w.minus && w.whole == 0:
		w.minus = true
	case b == '.' && w.whole > 0 && !w.point && r.places > 0:
		w.point = true
	case digit && !w.point && w.whole < r.before && !(w.whole == 1 && w.value == 0):
		w.whole, w.value = w.whole+1, 10*w.value+int64(b-'0')
	case digit && w.point && w.fraction < r.places:
		w.fraction, w.value = w.fraction+1, 10*w.value+int64(b-'0')
	default:
		return w, false
	}
	return w, true
}

// lacks returns the smallest number of bytes after which a beginning is a number of the interval.
func (r interval) lacks(w written) int {
	if w.whole == 0 { // the sign and the first digit are tried
		length := infinite
		for _, b := range []byte("-0123456789") {
			if next, ok := r.after(w, b); ok {
				length = min(length, sum(1, r.lacks(next)))
			}
		}
		return length
	}
	low, high := r.low, r.high
	if w.minus {
		low, high = -r.high, -r.low
	}
	scale := power(r.places)
	length := infinite
	// try tries the numbers of some digits after the point from first on, below first + width.
	try := func(first, width int64, digits, bytes int) {
		unit := power(r.places - digits)
		from, to := max(low, first), min(high, first+width-unit)
		if unit, ok := r.unit(unit); ok && from <= to && from+(unit-from%unit)%unit <= to {
			length = min(length, bytes)
		}
	}
	if w.point {
		width := power(r.places - w.fraction)
		for more := range r.places - w.fraction + 1 {
			if w.fraction+more > 0 {
				try(w.value*width, width, w.fraction+more, more)
			}
		}
		return length
	}
	zeros := r.before - w.whole
	if w.value == 0 {
		zeros = 0
	}
	for more := range zeros + 1 {
		width := power(more) * scale
		for digits := range r.places + 1 {
			bytes := more
			if digits > 0 {
				bytes += digits + 1
			}
			try(w.value*width, width, digits, bytes)
		}
	}
	return length
}

// between is the rest of a number of an interval.
type between struct {
	interval
	written written
}

func (b between) shortest() int { return b.lacks(b.written) }
func (b between) empty() bool   { return b.written.whole > 0 && b.shortest() == 0 }

func (b between) step(c byte, s *state, out []*state) []*state {
	next, ok := b.after(b.written, c)
	if !ok {
		return out
	}
	return add(out, push(between{b.interval, next}, s.next))
}

func (b between) key(to []byte) []byte {
	w := b.written
	sign := 1
	if w.minus {
		sign = -1
	}
	if w.point {
		sign *= 2
	}
	return keyed(to, 'r', int(b.low), int(b.high), int(b.multiple), b.places, sign, w.whole, w.fraction, int(w.value))
}

// unit returns the number of which all multiples of a unit in the interval are multiples, unless that is larger than
// any number of it. From a number not below 0, the next multiple does not overflow.
func (r interval) unit(unit int64) (multiple int64, ok bool) {
	if r.multiple <= 1 {
		return unit, true
	}
	a, b := unit, r.multiple
	for b > 0 {
		a, b = b, a%b
	}
	if r.multiple/a > power(r.before)*power(r.places)/unit {
		return 0, false
	}
	return r.multiple / a * unit, true
}
