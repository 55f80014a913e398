package safetensors

import (
	"strconv"

	"github.com/pkg/errors"
)

// A parser reads the subset of JSON that a header may contain: objects, arrays, strings and unsigned integers. It
// keeps no buffer of its own, so long white space, strings and numbers cost nothing. It keeps the first error, after
// which every method does nothing.
type parser struct {
	text []byte
	pos  int
	err  error
}

func (p *parser) failf(format string, args ...any) {
	if p.err == nil {
		p.err = errors.Wrapf(errors.Errorf(format, args...), "header byte %d", p.pos)
	}
}

// peek returns the next byte that is not white space, or 0 at the end.
func (p *parser) peek() byte {
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (p *parser) expect(c byte) {
	if p.err != nil {
		return
	}
	if got := p.peek(); got != c {
		p.failf("got %q, want %q", string(rune(got)), string(rune(c)))
		return
	}
	p.pos++
}

// list reads open, items separated by commas, and end.
func (p *parser) list(open, end byte, item func()) {
	p.expect(open)
	if p.err == nil && p.peek() == end {
		p.pos++
		return
	}
	for p.err == nil {
		item()
		if p.err == nil && p.peek() == end {
			p.pos++
			return
		}
		p.expect(',')
	}
}

// object reads an object and calls value for each key to read what follows the colon. The key is valid only during the
// call.
func (p *parser) object(value func(key []byte)) {
	p.list('{', '}', func() {
		key := p.str()
		p.expect(':')
		if p.err == nil {
			value(key)
		}
	})
}

// uint reads an unsigned integer that fits an int, without sign, fraction, exponent or leading zeros.
func (p *parser) uint() int {
	if p.err != nil {
		return 0
	}
	p.peek()
	start := p.pos
	for p.pos < len(p.text) && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
		p.pos++
	}
	digits := p.text[start:p.pos]
	if len(digits) == 0 || len(digits) > 19 || (digits[0] == '0' && len(digits) > 1) {
		p.failf("want an unsigned integer")
		return 0
	}
	n, err := strconv.ParseUint(string(digits), 10, strconv.IntSize-1)
	if err != nil {
		p.failf("%s is too large", digits)
	}
	return int(n)
}
