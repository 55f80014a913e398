package main

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// The tokens. A text is the bits of the question, think, the thoughts, say, and the answer, which is a bit. Thought k is
// right if it tells whether the number of ones among the first k bits is odd.
const (
	bit0 = iota // bit1 is the next
	bit1
	think
	even // odd is the next
	odd
	say
	vocabulary
)

// lesson is what a teacher shows and what of it is graded.
type lesson struct {
	name     string
	bits     int
	thoughts int     // 0 or as many as bits
	slip     float64 // the probability of forgetting a one that stands right behind another
	graded   bool    // the pupil is to think as the teacher does; else only its answers count
}

func (o options) lessons() []lesson {
	return []lesson{
		{name: "answers at once", bits: o.bits},
		{name: "thinks, thoughts not graded", bits: o.bits, thoughts: o.bits},
		{name: "thinks like a careless teacher", bits: o.bits, thoughts: o.bits, slip: o.slip, graded: true},
	}
}

// tokens is the length of a text without its answer.
func (l lesson) tokens() int { return l.bits + 1 + l.thoughts + 1 }

// question is random bits, then think.
func (l lesson) question(rng *rand.Rand) []int {
	text := make([]int, l.bits+1, l.tokens()+1)
	for i := range l.bits {
		text[i] = bit0 + rng.IntN(2)
	}
	text[l.bits] = think
	return text
}

// parity is the right answer.
func (l lesson) parity(text []int) (ones int) {
	for _, bit := range text[:l.bits] {
		ones += bit - bit0
	}
	return bit0 + ones%2
}

// reason is the teacher's thoughts about a question. rng decides where it slips.
func (l lesson) reason(text []int, slip float64, rng *rand.Rand) []int {
	thoughts, ones := make([]int, l.thoughts), 0
	for i := range thoughts {
		forgets := i > 0 && text[i-1] == bit1 && rng.Float64() < slip
		if text[i] == bit1 && !forgets {
			ones++
		}
		thoughts[i] = even + ones%2
	}
	return thoughts
}

// write fills a batch with texts: the answer is what the teacher's thoughts come to, right where there are none. Targets
// that are not graded are ignored.
func (l lesson) write(rng *rand.Rand, tokens, targets []int) {
	n := l.tokens()
	for at := 0; at < len(tokens); at += n {
		all := l.question(rng)
		answer := l.parity(all)
		if l.thoughts > 0 {
			thoughts := l.reason(all, l.slip, rng)
			all = append(all, thoughts...)
			answer = bit0 + thoughts[l.thoughts-1] - even
		}
		all = append(all, say, answer)
		copy(tokens[at:at+n], all)
		copy(targets[at:at+n], all[1:])
		for i := range n - 1 {
			if thought := i >= l.bits && i < l.bits+l.thoughts; !thought || !l.graded {
				targets[at+i] = text.Ignore
			}
		}
	}
}
