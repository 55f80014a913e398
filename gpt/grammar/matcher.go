package grammar

import (
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pkg/errors"
)

// Vocabulary holds the texts of tokens in their order, so that texts with a common beginning are followed at once. It
// is immutable.
type Vocabulary struct {
	texts  []string // by id
	ids    []int    // those with a text, in the order of their texts
	shared []int    // by place in ids, the number of first bytes shared with the text before
	single [256]bool
}

// NewVocabulary returns a vocabulary of the texts of tokens, by their ids. A token with an empty text, such as a
// special token, is in no grammar.
func NewVocabulary(texts []string) *Vocabulary {
	v := &Vocabulary{texts: slices.Clone(texts)}
	for id, s := range texts {
		if s != "" {
			v.ids = append(v.ids, id)
		}
		if len(s) == 1 {
			v.single[s[0]] = true
		}
	}
	slices.SortStableFunc(v.ids, func(a, b int) int { return strings.Compare(texts[a], texts[b]) })
	before := ""
	for _, id := range v.ids {
		n := 0
		for n < min(len(before), len(texts[id])) && before[n] == texts[id][n] {
			n++
		}
		v.shared, before = append(v.shared, n), texts[id]
	}
	return v
}

// Matcher follows a text of a grammar. It is a search.Rule, which forbids the tokens that leave the grammar, and ends
// the text when nothing can follow. It never leads to a text that cannot end in time: before each token, it forbids
// those after which the tokens that are left do not suffice, unless too few are given from the beginning.
type Matcher struct {
	vocabulary *Vocabulary
	ends       []int
	states     []*state // the text may be in any of them
	left       int      // tokens
	timely     bool     // the tokens suffice
	ended      bool
	masks      map[string]*mask
	stack      [][]*state // by number of bytes of a token
	scratch    []byte
}

// The bounds of the work on a token, and of the memory of its results.
const (
	mostStates = 1024
	mostWork   = 1 << 23 // steps of states
	mostMasks  = 32
)

// Matcher returns a matcher of a text of g, which has at most the given number of tokens, before one of the tokens that
// end it. It returns an error that names a byte which the grammar needs and which is no token.
func (g *Grammar) Matcher(v *Vocabulary, tokens int, ends ...int) (*Matcher, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	switch {
	case v == nil:
		return nil, errors.New("grammar: vocabulary: got nil, want one from NewVocabulary")
	case tokens < 0:
		return nil, errors.Errorf("grammar: tokens: got %d, want 0 or more", tokens)
	}
	if c, missing := g.missing(v); missing {
		return nil, errors.Errorf("grammar: the vocabulary has no token for %q", rune(c))
	}
	start := g.start()
	return &Matcher{
		vocabulary: v, ends: slices.Clone(ends), states: start, left: tokens,
		timely: start[0].length() <= tokens, masks: map[string]*mask{},
	}, nil
}

// Complete reports whether the text so far is a text of the grammar.
func (m *Matcher) Complete() bool {
	return m != nil && slices.ContainsFunc(m.states, (*state).complete)
}

// Apply forbids the tokens that leave the grammar, or after which the text cannot end in time.
func (m *Matcher) Apply(logits []float64) error {
	switch {
	case m == nil || m.vocabulary == nil:
		return errors.New("grammar: got nil, want the Matcher of a Grammar")
	case m.ended || m.Complete() && !slices.ContainsFunc(m.states, func(s *state) bool { return s != nil }):
		return search.ErrEnd
	}
	allowed, err := m.allowed()
	if err != nil {
		return err
	}
	some, complete := false, m.Complete()
	for id := range logits {
		if allowed.has(id) || complete && slices.Contains(m.ends, id) {
			some = true
			continue
		}
		logits[id] = math.Inf(-1)
	}
	switch {
	case !some && complete:
		return search.ErrEnd
	case !some:
		return errors.New("grammar: no token goes on")
	}
	return nil
}

// Drawn follows a token.
func (m *Matcher) Drawn(id int) error {
	switch {
	case m == nil || m.vocabulary == nil:
		return errors.New("grammar: got nil, want the Matcher of a Grammar")
	case m.Complete() && slices.Contains(m.ends, id):
		m.ended = true
		return nil
	case id < 0 || id >= len(m.vocabulary.texts) || m.vocabulary.texts[id] == "":
		return errors.Errorf("grammar: got the token %d, which has no text", id)
	}
	states := m.states
	for _, b := range []byte(m.vocabulary.texts[id]) {
		states = m.step(states, b, nil)
	}
	if len(states) == 0 {
		return errors.Errorf("grammar: got the token %d, which leaves the grammar", id)
	}
	m.states = states
	m.left--
	return nil
}

// step returns the states after a byte, in place of those in room.
func (m *Matcher) step(states []*state, b byte, room []*state) []*state {
	room = room[:0]
	for _, s := range states {
		room = s.advance(b, room)
	}
	if len(room) < 2 {
		return room
	}
	slices.SortStableFunc(room, func(a, b *state) int { return a.length() - b.length() })
	seen := map[string]bool{}
	room = slices.DeleteFunc(room, func(s *state) bool {
		m.scratch = s.key(m.scratch[:0])
		again := seen[string(m.scratch)]
		seen[string(m.scratch)] = true
		return again
	})
	return room[:min(len(room), mostStates)]
}

// mask is a set of tokens.
type mask struct {
	bits  []uint64
	least int  // the largest number of bytes of the shortest rest after any of them
	cut   bool // tokens are left out because the rest after them is too long
}

func (m *mask) has(id int) bool { return id>>6 < len(m.bits) && m.bits[id>>6]&(1<<(id&63)) != 0 }

// allowed returns the tokens that may follow. The masks of states that come again, such as those within a text, are
// kept.
func (m *Matcher) allowed() (*mask, error) {
	limit := infinite
	if m.timely {
		limit = m.left - 1
	}
	m.scratch = m.scratch[:0]
	for _, s := range m.states {
		m.scratch = s.key(m.scratch)
	}
	key := string(m.scratch)
	if stored := m.masks[key]; stored != nil && stored.least <= limit {
		return stored, nil
	}
	made, err := m.follow(limit)
	if err == nil && !made.cut {
		if len(m.masks) == mostMasks {
			clear(m.masks)
		}
		m.masks[key] = made
	}
	return made, err
}

// follow returns the tokens after which the shortest rest has at most limit bytes.
func (m *Matcher) follow(limit int) (*mask, error) {
	v := m.vocabulary
	made := &mask{bits: make([]uint64, (len(v.texts)+63)/64)}
	if len(m.stack) == 0 {
		m.stack = append(m.stack, nil)
	}
	m.stack[0] = append(m.stack[0][:0], m.states...)
	work, run, valid := 0, 0, 0 // valid bytes of the last text that was followed; run bytes are shared with it
	for place, id := range v.ids {
		s := v.texts[id]
		if run = min(run, v.shared[place]); run > valid {
			continue // it has the byte that left the grammar
		}
		run, valid = len(s), min(run, valid)
		for valid < len(s) {
			if len(m.stack) == valid+1 {
				m.stack = append(m.stack, nil)
			}
			if work += len(m.stack[valid]); work > mostWork {
				return nil,
					errors.Errorf("grammar: a token takes more than %d steps; the schema has too many alternatives",
						mostWork)
			}
			m.stack[valid+1] = m.step(m.stack[valid], s[valid], m.stack[valid+1])
			if len(m.stack[valid+1]) == 0 {
				break
			}
			valid++
		}
		if valid < len(s) {
			continue
		}
		length := infinite
		for _, s := range m.stack[valid] {
			length = min(length, s.length())
		}
		switch {
		case length > limit:
			made.cut = true
		default:
			made.bits[id>>6] |= 1 << (id & 63)
			made.least = max(made.least, length)
		}
	}
	return made, nil
}
