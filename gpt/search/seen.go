package search

// Seen is the set of the tokens of a text, which a repetition penalty needs. Its size does not grow with the text.
type Seen struct {
	ids []int
	has []bool // indexed by id
}

// NewSeen returns an empty set of tokens of a vocabulary.
func NewSeen(vocab int) Seen { return Seen{make([]int, 0, max(0, vocab)), make([]bool, max(0, vocab))} }

// Add adds tokens. It leaves out those outside the vocabulary.
func (s *Seen) Add(tokens ...int) {
	for _, id := range tokens {
		if id >= 0 && id < len(s.has) && !s.has[id] {
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
