package gpt

// seen is the tokens of a text, each once, however long it gets: what a repetition penalty asks for.
type seen struct {
	ids []int
	has []bool // by id
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
