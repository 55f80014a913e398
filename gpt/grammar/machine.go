package grammar

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// folded returns pairs of a character twice, and with fold of those in the other case.
func folded(c rune, fold bool) []rune {
	list := []rune{c, c}
	for other := unicode.SimpleFold(c); fold && other != c; other = unicode.SimpleFold(other) {
		list = append(list, other, other)
	}
	return list
}

// escaped returns the letter of the escape of a character, or 0 if it stands for itself.
func escaped(c rune) byte {
	switch c {
	case '"', '\\':
		return byte(c)
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}

// escapes lists the characters that are written as escapes.
func escapes() []rune { return []rune{'"', '\\', '\b', '\f', '\n', '\r', '\t'} }

// shortest returns the character of a range that takes the fewest bytes, and their number.
func (s span) shortest() (c rune, bytes int) {
	c, bytes = s.from, utf8.RuneLen(s.from)
	if escaped(c) == 0 {
		return c, bytes
	}
	for c := s.from; c <= min(s.to, s.from+16); c++ {
		if escaped(c) == 0 {
			return c, utf8.RuneLen(c)
		}
	}
	return c, 2
}

// measure computes the shortest rest of every state, and removes the characters behind which no text ends.
func (m *machine) measure() {
	for changed := true; changed; {
		changed = false
		for i := len(m.states) - 1; i >= 0; i-- {
			p := &m.states[i]
			least := infinite
			if p.accepts {
				least = 1
			}
			for _, s := range p.branches {
				_, bytes := s.shortest()
				least = min(least, sum(bytes, m.states[s.next].least))
			}
			if least < p.least {
				p.least, changed = least, true
			}
		}
	}
	for i := range m.states {
		p := &m.states[i]
		p.branches = slices.DeleteFunc(p.branches, func(s span) bool { return m.states[s.next].least >= infinite })
	}
}

// needs returns the bytes with which a text is completed from every state.
func (m *machine) needs() string {
	var list []byte
	for _, p := range m.states {
		for _, s := range p.branches {
			c, bytes := s.shortest()
			if p.accepts || p.least != sum(bytes, m.states[s.next].least) {
				continue
			}
			if e := escaped(c); e != 0 {
				list = append(list, '\\', e)
			} else {
				list = utf8.AppendRune(list, c)
			}
			break
		}
	}
	return string(list) + `"`
}

// machine returns the node of the texts of a machine.
func (b *builder) machine(m *machine) *node {
	b.need(m.needs())
	n := b.node(m)
	m.id = n.id
	return n
}

func (m *machine) shortest(int) int { return sum(1, m.states[0].least) }

func (m *machine) begin(b byte, _ int, next *state, out []*state) []*state {
	if b != '"' {
		return out
	}
	return add(out, push(matching{machine: m}, next))
}

// matching is the rest of a text of a machine.
type matching struct {
	*machine
	at       int
	left     int  // bytes that the present character still needs
	from, to rune // the characters that begin with its bytes so far
	escape   bool // after a backslash
}

func (matching) empty() bool { return false }

func (t matching) key(to []byte) []byte {
	escape := 0
	if t.escape {
		escape = 1
	}
	return keyed(to, 't', t.id, t.at, t.left, int(t.from), int(t.to), escape)
}

func (t matching) shortest() int {
	p := t.states[t.at]
	if t.left == 0 && !t.escape {
		return p.least
	}
	length := infinite
	for _, s := range p.branches {
		switch {
		case t.escape:
			for _, c := range escapes() {
				if s.from <= c && c <= s.to {
					length = min(length, sum(1, t.states[s.next].least))
				}
			}
		case s.from <= t.to && t.from <= s.to:
			length = min(length, sum(t.left, t.states[s.next].least))
		}
	}
	return length
}

// follow returns the state behind a character, or −1.
func (t matching) follow(c rune) int {
	branches := t.states[t.at].branches
	i, _ := slices.BinarySearchFunc(branches, c, func(s span, c rune) int { return int(s.to) - int(c) })
	if i < len(branches) && branches[i].from <= c {
		return branches[i].next
	}
	return -1
}

func (t matching) step(b byte, s *state, out []*state) []*state {
	p := &t.states[t.at]
	switch next := t; {
	case t.escape:
		for _, c := range escapes() {
			if at := t.follow(c); escaped(c) == b && at >= 0 {
				return add(out, push(matching{machine: t.machine, at: at}, s.next))
			}
		}
		return out
	case t.left == 0 && b == '"':
		if p.accepts {
			return add(out, s.next)
		}
		return out
	case t.left == 0 && b == '\\':
		next.escape = true
		return add(out, push(next, s.next))
	case t.left == 0 && b < 0x20:
		return out
	case t.left == 0 && b < 0x80:
		if at := t.follow(rune(b)); at >= 0 {
			return add(out, push(matching{machine: t.machine, at: at}, s.next))
		}
		return out
	default:
		if !next.narrow(b) {
			return out
		}
		if next.left > 0 {
			return add(out, push(next, s.next))
		}
		if at := t.follow(next.from); at >= 0 {
			return add(out, push(matching{machine: t.machine, at: at}, s.next))
		}
		return out
	}
}

// narrow reads a byte of a character beyond ASCII, and reports whether there is such a character.
func (t *matching) narrow(b byte) bool {
	if t.left > 0 {
		if b < 0x80 || b > 0xbf {
			return false
		}
		t.left--
		width := rune(1) << (6 * t.left)
		from := t.base(width*64) + rune(b&0x3f)*width
		t.from, t.to = max(t.from, from), min(t.to, from+width-1)
		return t.from <= t.to
	}
	switch {
	case b >= 0xc2 && b <= 0xdf:
		t.left, t.from = 1, rune(b&0x1f)<<6
	case b >= 0xe0 && b <= 0xef:
		t.left, t.from = 2, rune(b&0x0f)<<12
	case b >= 0xf0 && b <= 0xf4:
		t.left, t.from = 3, rune(b&0x07)<<18
	default:
		return false
	}
	t.to = min(utf8.MaxRune, t.from+rune(1)<<(6*t.left)-1)
	t.from = max(t.from, []rune{0, 0x80, 0x800, 0x10000}[t.left])
	return true
}

// base returns the first character of a width to which the bytes so far belong.
func (t *matching) base(width rune) rune { return t.from &^ (width - 1) }
