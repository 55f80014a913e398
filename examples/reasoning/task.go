package main

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// The tokens. A text consists of the bits of the question, think, the thoughts, say, and the answer, which is a bit.
// Thought k is right if it states whether the number of ones among the first k bits is odd.
const (
	bit0 = iota // bit1 is the next
	bit1
	think
	even // odd is the next
	odd
	say
	vocabulary
)

// task describes the texts of a teacher and the part of them that is graded.
type task struct {
	name     string
	bits     int
	thoughts int     // 0 or bits
	slip     float64 // the probability of forgetting a one right after another
	graded   bool    // thoughts have a loss; otherwise only answers
}

func (o options) tasks() []task {
	return []task{
		{name: "answers at once", bits: o.bits},
		{name: "thinks, thoughts not graded", bits: o.bits, thoughts: o.bits},
		{name: "thinks like a careless teacher", bits: o.bits, thoughts: o.bits, slip: o.slip, graded: true},
	}
}

// tokens returns the length of a text without its answer.
func (t task) tokens() int { return t.bits + 1 + t.thoughts + 1 }

// question returns random bits, followed by think.
func (t task) question(rng *rand.Rand) []int {
	text := make([]int, t.bits+1, t.tokens()+1)
	for i := range t.bits {
		text[i] = bit0 + rng.IntN(2)
	}
	text[t.bits] = think
	return text
}

// parity returns the right answer.
func (t task) parity(text []int) (ones int) {
	for _, bit := range text[:t.bits] {
		ones += bit - bit0
	}
	return bit0 + ones%2
}

// reason returns the teacher's thoughts about a question. rng determines the slips.
func (t task) reason(text []int, slip float64, rng *rand.Rand) []int {
	thoughts, ones := make([]int, t.thoughts), 0
	for i := range thoughts {
		forgets := i > 0 && text[i-1] == bit1 && rng.Float64() < slip
		if text[i] == bit1 && !forgets {
			ones++
		}
		thoughts[i] = even + ones%2
	}
	return thoughts
}

// write fills a batch with texts. The answer follows from the teacher's thoughts, or is right if there are none.
// Targets that are not graded are ignored.
func (t task) write(rng *rand.Rand, tokens, targets []int) {
	n := t.tokens()
	for at := 0; at < len(tokens); at += n {
		all := t.question(rng)
		answer := t.parity(all)
		if t.thoughts > 0 {
			thoughts := t.reason(all, t.slip, rng)
			all = append(all, thoughts...)
			answer = bit0 + thoughts[t.thoughts-1] - even
		}
		all = append(all, say, answer)
		copy(tokens[at:at+n], all)
		copy(targets[at:at+n], all[1:])
		for i := range n - 1 {
			if thought := i >= t.bits && i < t.bits+t.thoughts; !thought || !t.graded {
				targets[at+i] = text.Ignore
			}
		}
	}
}
