package grammar

// number returns the node of numbers.
func (b *builder) number(s set) *node {
	b.need("-.0123456789")
	return b.node(s)
}

// free is the set of all numbers, or of all integers.
type free struct{ integer bool }

func (free) shortest(int) int { return 1 }

func (f free) begin(b byte, _ int, next *state, out []*state) []*state {
	return digits{free: f}.step(b, &state{next: next}, out)
}

// The phases of a number.
const (
	atStart = iota
	afterMinus
	afterZero
	inInteger
	afterPoint
	inFraction
	afterE
	afterSign
	inExponent
)

// The largest numbers of digits of a number, so that every program can read it.
const (
	mostDigits   = 15
	mostExponent = 2
)

// digits is the rest of a number.
type digits struct {
	free
	phase, n int // n digits of the phase
}

func (d digits) empty() bool {
	return d.phase == afterZero || d.phase == inInteger || d.phase == inFraction || d.phase == inExponent
}

func (d digits) shortest() int {
	if d.empty() {
		return 0
	}
	return 1
}

func (d digits) key(to []byte) []byte {
	kind := byte('n')
	if d.integer {
		kind = 'i'
	}
	return keyed(to, kind, d.phase, d.n)
}

func (d digits) step(b byte, s *state, out []*state) []*state {
	next, ok := d.after(b)
	if !ok {
		return out
	}
	return add(out, push(next, s.next))
}

// after returns the rest after a byte.
func (d digits) after(b byte) (next digits, ok bool) {
	digit := b >= '0' && b <= '9'
	to := func(phase int) (digits, bool) { return digits{d.free, phase, 1}, true }
	more := func(most int) (digits, bool) { return digits{d.free, d.phase, d.n + 1}, d.n < most }
	switch d.phase {
	case atStart, afterMinus:
		switch {
		case b == '-' && d.phase == atStart:
			return to(afterMinus)
		case b == '0':
			return to(afterZero)
		case digit:
			return to(inInteger)
		}
	case afterZero, inInteger:
		switch {
		case digit && d.phase == inInteger:
			return more(mostDigits)
		case b == '.' && !d.integer:
			return to(afterPoint)
		case (b == 'e' || b == 'E') && !d.integer:
			return to(afterE)
		}
	case afterPoint:
		if digit {
			return to(inFraction)
		}
	case inFraction:
		switch {
		case digit:
			return more(mostDigits)
		case b == 'e' || b == 'E':
			return to(afterE)
		}
	case afterE:
		switch {
		case b == '+' || b == '-':
			return to(afterSign)
		case digit:
			return to(inExponent)
		}
	case afterSign:
		if digit {
			return to(inExponent)
		}
	case inExponent:
		if digit {
			return more(mostExponent)
		}
	}
	return d, false
}
