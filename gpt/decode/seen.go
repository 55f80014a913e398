package decode

// seen is the set of the tokens of a text, which a repetition penalty needs. Its size does not grow with the text.
type seen struct {
	ids []int
	has []bool // indexed by id
}

func newSeen(vocab int) seen { return seen{make([]int, 0, vocab), make([]bool, vocab)} }

func (s *seen) add(tokens ...int) {
	for _, id := range tokens {
		if !s.has[id] {
			s.has[id] = true
			s.ids = append(s.ids, id)
		}
	}
}

func (s *seen) reset() {
	for _, id := range s.ids {
		s.has[id] = false
	}
	s.ids = s.ids[:0]
}
