package search

// Seen is the set of the tokens of a text, which a repetition penalty needs. Its size does not grow with the text.
type Seen struct {
	ids   []int
	has   []bool // indexed by id, as far as ids have been added
	vocab int
}

// NewSeen returns an empty set of tokens of a vocabulary.
func NewSeen(vocab int) Seen {
	const first = 1 << 20 // of a larger vocabulary, memory is allocated when its tokens are added
	n := min(max(0, vocab), first)
	return Seen{make([]int, 0, n), make([]bool, n), vocab}
}

// Add adds tokens. It leaves out those outside the vocabulary.
func (s *Seen) Add(tokens ...int) {
	for _, id := range tokens {
		if id < 0 || id >= s.vocab {
			continue
		}
		if id >= len(s.has) {
			s.has = append(s.has, make([]bool, id+1-len(s.has))...)
		}
		if !s.has[id] {
			s.has[id] = true
			s.ids = append(s.ids, id)
		}
	}
}

// IDs returns the tokens, each once, in the order in which they were first added, for Sampler.Draw. The next Add may
// overwrite them.
func (s Seen) IDs() []int { return s.ids }

// Reset removes all tokens.
func (s *Seen) Reset() {
	if s == nil {
		return
	}
	for _, id := range s.ids {
		s.has[id] = false
	}
	s.ids = s.ids[:0]
}
