package grammar

import (
	"github.com/pkg/errors"
)

// coarse is an item that counts. For any text of a number of bytes it is equivalent to another item, whose count is not
// near its limit, so that its states come again.
type coarse interface {
	coarse(bytes int) (it item, other bool)
}

// coarsened returns a state that is equivalent to s for any text of a number of bytes.
func coarsened(s *state, bytes int) *state {
	if s == nil {
		return nil
	}
	next := coarsened(s.next, bytes)
	if c, ok := s.item.(coarse); ok {
		if it, other := c.coarse(bytes); other {
			return push(it, next)
		}
	}
	if next == s.next {
		return s
	}
	return push(s.item, next)
}

// allowed returns the tokens that may follow. The masks of states that come again, such as those within a text, are
// kept.
func (m *Matcher) allowed() (*mask, error) {
	limit := infinite
	if m.timely {
		limit = m.left - 1
	}
	states := make([]*state, len(m.states))
	m.scratch = m.scratch[:0]
	for i, s := range m.states {
		states[i] = coarsened(s, m.vocabulary.longest)
		m.scratch = states[i].key(m.scratch)
	}
	if stored := m.masks[string(m.scratch)]; stored != nil && stored.least <= limit {
		return stored, nil
	}
	key := string(m.scratch)
	made, err := m.follow(states, limit)
	if err == nil && !made.cut {
		if len(m.masks) == mostMasks {
			clear(m.masks)
		}
		m.masks[key] = made
	}
	return made, err
}

// follow returns the tokens after which the shortest rest has at most limit bytes.
func (m *Matcher) follow(states []*state, limit int) (*mask, error) {
	v := m.vocabulary
	made := &mask{bits: make([]uint64, (len(v.texts)+63)/64)}
	if len(m.stack) == 0 {
		m.stack = append(m.stack, nil)
	}
	m.stack[0] = append(m.stack[0][:0], states...)
	texts, fast := v.all, newWalk(states)
	if set, length, ok := v.within(states); ok && length <= limit {
		copy(made.bits, set)
		made.least, texts = length, v.odd
	}
	work := 0
	for at := 0; at < len(texts); {
		b := &texts[at]
		depth := int(b.depth)
		if len(m.stack) == depth+1 {
			m.stack, m.rooms = append(m.stack, nil), append(m.rooms, nil)
		}
		if work += len(m.stack[depth]); work > mostWork {
			return nil, errors.Errorf("grammar: a token takes more than %d steps; the schema has too many alternatives",
				mostWork)
		}
		after, known := fast.step(m, m.stack[depth], b.byte)
		if !known {
			after = m.step(m.stack[depth], b.byte, m.rooms[depth])
			m.rooms[depth] = after
		}
		m.stack[depth+1] = after
		if len(after) == 0 {
			at = int(b.end)
			continue
		}
		if at++; len(b.ids) == 0 {
			continue
		}
		length := infinite
		for _, s := range after {
			length = min(length, s.length())
		}
		if length > limit {
			made.cut = true
			continue
		}
		made.least = max(made.least, length)
		for _, id := range b.ids {
			made.bits[id>>6] |= 1 << (id & 63)
		}
	}
	return made, nil
}

// walk follows the texts of a machine. It computes once what follows a byte between two characters: a machine has few
// places, and a vocabulary many bytes.
type walk struct {
	machine *machine
	next    *state
	places  map[int]*[256][]*state
}

// newWalk returns the walk from the only state, if that is within a text of a machine.
func newWalk(states []*state) (w walk) {
	if len(states) == 1 && states[0] != nil {
		if t, ok := states[0].item.(matching); ok {
			return walk{t.machine, states[0].next, map[int]*[256][]*state{}}
		}
	}
	return w
}

// step returns the states after a byte, if it knows the only state.
func (w walk) step(m *Matcher, states []*state, b byte) (after []*state, known bool) {
	const most = 1 << 9 // places, of 6 KiB each
	if len(states) != 1 || states[0] == nil || states[0].next != w.next || w.places == nil {
		return nil, false
	}
	t, ok := states[0].item.(matching)
	if !ok || t.machine != w.machine || t.left > 0 || t.escape {
		return nil, false
	}
	place := w.places[t.at]
	if place == nil {
		if len(w.places) == most {
			return nil, false
		}
		place = new([256][]*state)
		w.places[t.at] = place
	}
	if place[b] == nil {
		place[b] = append([]*state{}, m.step(states, b, nil)...)
	}
	return place[b], true
}

// within returns the plain texts that may follow in the only state, if that is within a text in quotes and between two
// characters, and the largest length of the shortest rest after any of them.
func (v *Vocabulary) within(states []*state) (set []uint64, length int, ok bool) {
	if len(states) != 1 || states[0] == nil {
		return nil, 0, false
	}
	c, ok := states[0].item.(characters)
	if !ok || c.pending > 0 {
		return nil, 0, false
	}
	room := len(v.plain) - 1
	if c.most >= 0 {
		room = min(room, c.most-c.n)
	}
	return v.plain[room], sum(c.done().shortest(), states[0].next.length()), true
}

// coarse forgets the limit if that is farther away, and the characters beyond the fewest.
func (c characters) coarse(bytes int) (it item, other bool) {
	if c.most < 0 || c.most-c.n < bytes {
		return c, false
	}
	c.most, c.n = -1, min(c.n, c.fewest)
	return c, true
}

// coarse forgets the limit if that is farther away, and the values beyond the fewest.
func (e elements) coarse(bytes int) (it item, other bool) {
	if e.most < 0 || e.most-e.n < bytes {
		return e, false
	}
	e.most, e.n = -1, min(e.n, e.fewest)
	return e, true
}
