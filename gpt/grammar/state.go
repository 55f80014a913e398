package grammar

import "encoding/binary"

// state is a stack of the items that a text still has to match, the next one first. nil matches the end of the text.
// States are immutable and share their lower parts.
type state struct {
	item  item
	next  *state
	least int // bytes of the shortest rest
}

// item is a part of a text that is being matched.
type item interface {
	// shortest returns the number of bytes of its shortest rest.
	shortest() int
	// empty reports whether the rest may be empty.
	empty() bool
	// step appends the states after a byte of the item at the top of s.
	step(b byte, s *state, out []*state) []*state
	// key appends bytes that differ for different items.
	key(to []byte) []byte
}

// push returns a state with an item above next.
func push(it item, next *state) *state { return &state{it, next, sum(it.shortest(), next.length())} }

// length returns the number of bytes of the shortest rest.
func (s *state) length() int {
	if s == nil {
		return 0
	}
	return s.least
}

// add appends a state from which the text can end.
func add(out []*state, s *state) []*state {
	if s.length() >= infinite {
		return out
	}
	return append(out, s)
}

// advance appends the states after a byte.
func (s *state) advance(b byte, out []*state) []*state {
	for ; s != nil; s = s.next {
		out = s.item.step(b, s, out)
		if !s.item.empty() {
			break
		}
	}
	return out
}

// complete reports whether the text may end.
func (s *state) complete() bool {
	for ; s != nil; s = s.next {
		if !s.item.empty() {
			return false
		}
	}
	return true
}

// key appends bytes that differ for different states.
func (s *state) key(to []byte) []byte {
	for ; s != nil; s = s.next {
		to = s.item.key(to)
	}
	return append(to, 0)
}

// keyed appends the kind of an item and its numbers.
func keyed(to []byte, kind byte, numbers ...int) []byte {
	to = append(to, kind)
	for _, n := range numbers {
		to = binary.AppendVarint(to, int64(n))
	}
	return to
}

// literal is a text that must follow.
type literal string

func (l literal) shortest() int { return len(l) }
func (l literal) empty() bool   { return l == "" }

func (l literal) step(b byte, s *state, out []*state) []*state {
	switch {
	case l == "" || l[0] != b:
		return out
	case len(l) == 1:
		return add(out, s.next)
	}
	return add(out, push(l[1:], s.next))
}

func (l literal) key(to []byte) []byte { return append(keyed(to, 'l', len(l)), l...) }

// space is white space of at most this number of bytes.
type space int

// mostSpace is the largest number of bytes of white space in one place: enough for a line and its indentation.
const mostSpace = 20

func (space) shortest() int { return 0 }
func (space) empty() bool   { return true }

func (n space) step(b byte, s *state, out []*state) []*state {
	if n == 0 || b != ' ' && b != '\n' && b != '\t' && b != '\r' {
		return out
	}
	return add(out, push(n-1, s.next))
}

func (n space) key(to []byte) []byte { return keyed(to, ' ', int(n)) }

// value is a value of a node that has not begun.
type value struct {
	of    *node
	depth int
}

func (v value) shortest() int { return v.of.shortest(v.depth) }
func (value) empty() bool     { return false }

func (v value) step(b byte, s *state, out []*state) []*state {
	return v.of.begin(b, v.depth, s.next, out)
}

func (v value) key(to []byte) []byte { return keyed(to, 'v', v.of.id, v.depth) }
