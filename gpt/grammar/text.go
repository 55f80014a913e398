package grammar

// text is the set of texts of a number of characters in quotes; most is −1 without a limit.
type text struct{ fewest, most int }

// text returns the node of texts.
func (b *builder) text(fewest, limit int) *node {
	b.need(`"a`)
	return b.node(text{fewest, limit})
}

func (t text) shortest(int) int { return sum(t.fewest, 2) }

func (t text) begin(b byte, _ int, next *state, out []*state) []*state {
	if b != '"' {
		return out
	}
	return add(out, push(characters{text: t}, next))
}

// characters is the rest of a text after its first quote, in UTF-8. Escapes of four hexadecimal digits stand for
// characters of 16 bits that are complete by themselves.
type characters struct {
	text
	n       int  // complete characters
	pending int  // bytes that the current character or escape still needs
	from    byte // the next of these is in from … to
	to      byte
	kind    byte // of the pending bytes: 'u' of UTF-8, '\\' after a backslash, 'x' hexadecimal
}

func (c characters) shortest() int {
	n := c.n
	if c.pending > 0 {
		n++
	}
	return sum(c.pending+1, max(0, c.fewest-n))
}

func (characters) empty() bool { return false }

func (c characters) key(to []byte) []byte {
	return keyed(to, 'c', c.fewest, c.most, c.n, c.pending, int(c.from), int(c.to), int(c.kind))
}

func (c characters) step(b byte, s *state, out []*state) []*state {
	next, ends, ok := c.after(b)
	switch {
	case !ok:
		return out
	case ends:
		return add(out, s.next)
	case next == c:
		return append(out, s)
	}
	return add(out, push(next, s.next))
}

// after returns the rest after a byte, and whether that is the last quote.
func (c characters) after(b byte) (next characters, ends, ok bool) {
	switch {
	case c.pending > 0:
		return c.goOn(b)
	case b == '"':
		return c, true, c.n >= c.fewest
	case b < 0x20 || c.n == c.most:
		return c, false, false
	case b == '\\':
		c.pending, c.kind = 1, '\\'
		return c, false, true
	case b < 0x80:
		return c.done(), false, true
	}
	c.kind, c.from, c.to = 'u', 0x80, 0xbf
	switch {
	case b >= 0xc2 && b <= 0xdf:
		c.pending = 1
	case b >= 0xe0 && b <= 0xef:
		c.pending = 2
	case b >= 0xf0 && b <= 0xf4:
		c.pending = 3
	}
	switch b { // no character has two forms, and none is a half of a pair or above U+10FFFF
	case 0xe0:
		c.from = 0xa0
	case 0xed:
		c.to = 0x9f
	case 0xf0:
		c.from = 0x90
	case 0xf4:
		c.to = 0x8f
	}
	return c, false, c.pending > 0
}

// goOn is after within a character or an escape.
func (c characters) goOn(b byte) (next characters, ends, ok bool) {
	switch c.kind {
	case 'u':
		if b < c.from || b > c.to {
			return c, false, false
		}
		c.from, c.to = 0x80, 0xbf
	case '\\':
		switch b {
		case 'u':
			c.pending, c.kind, c.from = 4, 'x', 0
			return c, false, true
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		default:
			return c, false, false
		}
	case 'x':
		digit, hex := digitOf(b)
		if !hex || c.from == 'd' && digit >= 8 { // a half of a pair
			return c, false, false
		}
		c.from = 0
		if c.pending == 4 && digit == 0xd {
			c.from = 'd'
		}
	}
	if c.pending--; c.pending == 0 {
		return c.done(), false, true
	}
	return c, false, true
}

// digitOf returns the value of a hexadecimal digit.
func digitOf(b byte) (digit int, ok bool) {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0'), true
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10, true
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10, true
	}
	return 0, false
}

// done counts a character, as far as the number matters.
func (c characters) done() characters {
	if c.n++; c.most < 0 {
		c.n = min(c.n, c.fewest)
	}
	return characters{text: c.text, n: c.n}
}
