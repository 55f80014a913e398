package search

import (
	"math"
	"slices"

	"github.com/pkg/errors"
)

// beam holds the hypotheses of one text, each in the slot where the Predictor keeps it.
type beam struct{ slots []slot }

type slot struct {
	Hypothesis
	score  float64
	live   bool // the slot holds a hypothesis
	parent int  // the slot that it continues
	order  int  // index among the live or the empty slots, best first
}

func newBeam(n int) beam {
	b := beam{make([]slot, n)}
	for i := range b.slots {
		b.slots[i].parent, b.slots[i].order = i, i
	}
	b.slots[0].live = true
	return b
}

// token returns the token to continue the slot with; for a slot that does not continue, any token will do.
func (s slot) token() int {
	if !s.live || s.Ended {
		return 0
	}
	return s.Tokens[len(s.Tokens)-1]
}

// done reports whether nothing can change: all have ended, or the first has and the others can only get worse.
func (b beam) done(sum bool) bool {
	for _, s := range b.slots {
		if s.live && !s.Ended && (!sum || b.first().score <= s.score) {
			return false
		}
	}
	return true
}

func (b beam) first() slot { return b.slots[b.byOrder()[0]] }

func (b beam) byOrder() []int {
	at := make([]int, len(b.slots))
	for i, s := range b.slots {
		at[s.order] = i
	}
	return at
}

// grow replaces the hypotheses by the best of their continuations. The first continuation of a parent takes its slot,
// the others take the slots of parents without any. A rank that is NaN cannot be ordered and is an error.
func (b *beam) grow(logProbs func(slot int) []float64, rank Rank, ends func(token int) bool) error {
	n := len(b.slots)
	var kept []slot
	offer := func(s slot) {
		at := len(kept)
		for at > 0 && s.score > kept[at-1].score {
			at--
		}
		kept = slices.Insert(kept, at, s)
		kept = kept[:min(n, len(kept))]
	}
	for _, i := range b.byOrder() {
		s := b.slots[i]
		s.parent = i
		switch {
		case !s.live:
		case s.Ended:
			offer(s)
		default:
			before, sofar := s.Tokens, s.LogProb
			for v, lp := range logProbs(i) {
				s.LogProb, s.Ended, s.Tokens = sofar+lp, ends(v), before
				if s.score = rank(s.LogProb, len(before)+1); math.IsNaN(s.score) {
					return errors.Errorf("decode: rank: got NaN for ln p %.4g of %d tokens, "+
						"want a number",
						s.LogProb, len(before)+1)
				}
				if len(kept) == n && !(s.score > kept[n-1].score) {
					continue
				}
				if !s.Ended {
					s.Tokens = append(slices.Clip(before), v)
				}
				offer(s)
			}
		}
	}
	b.place(kept)
	return nil
}

func (b *beam) place(kept []slot) {
	next := make([]slot, len(b.slots))
	var rest []slot
	for order, s := range kept {
		s.order = order
		if next[s.parent].live {
			rest = append(rest, s)
		} else {
			next[s.parent] = s
		}
	}
	for i := range next {
		if next[i].live {
			continue
		}
		if len(rest) > 0 {
			next[i], rest = rest[0], rest[1:]
		} else { // fewer continuations than slots
			next[i] = slot{parent: i}
		}
	}
	order := len(kept)
	for i := range next {
		if !next[i].live {
			next[i].order, order = order, order+1
		}
	}
	b.slots = next
}

// sorted returns the hypotheses, best first; those cut by the limit come after those that have ended.
func (b beam) sorted() (list []Hypothesis) {
	for _, ended := range []bool{true, false} {
		for _, i := range b.byOrder() {
			if s := b.slots[i]; s.live && s.Ended == ended {
				list = append(list, s.Hypothesis)
			}
		}
	}
	return list
}
