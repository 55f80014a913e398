package grammar

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pkg/errors"
)

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
	rooms      [][]*state // for the entries of stack, but the first, that no walk remembers
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
	complete := m.Complete()
	ends := map[int]float64{}
	for _, id := range m.ends {
		if complete && id >= 0 && id < len(logits) {
			ends[id] = logits[id]
		}
	}
	some := allowed.forbid(logits) || len(ends) > 0
	for id, z := range ends {
		logits[id] = z
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

// forbid forbids the tokens outside the set, and reports whether there are any in it.
func (m *mask) forbid(logits []float64) (some bool) {
	never := math.Inf(-1)
	for from := 0; from < len(logits); from += 64 {
		word := uint64(0)
		if from>>6 < len(m.bits) {
			word = m.bits[from>>6]
		}
		part := logits[from:min(from+64, len(logits))]
		if word == 0 {
			for i := range part {
				part[i] = never
			}
			continue
		}
		for i := range part {
			if word&(1<<i) == 0 {
				part[i] = never
			} else {
				some = true
			}
		}
	}
	return some
}
