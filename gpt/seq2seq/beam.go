package seq2seq

import (
	"context"
	"math"
	"slices"
)

// Rank is what a beam search wants most of: a function of ln p and of the number of tokens with End. SumLogProb is the
// rule of Conti section 1.1; it prefers short texts, and the others make up for that.
type Rank func(logProb float64, length int) float64

// SumLogProb is ln p.
func SumLogProb(logProb float64, _ int) float64 { return logProb }

// MeanLogProb is ln p per token.
func MeanLogProb(logProb float64, length int) float64 { return logProb / float64(max(1, length)) }

// LengthPenalty is ln p divided by ((5 + length)/6)^α (Wu et al. 2016).
func LengthPenalty(alpha float64) Rank {
	return func(logProb float64, length int) float64 { return logProb / math.Pow(float64(5+length)/6, alpha) }
}

// Beam continues every kept hypothesis by every token, and keeps the best of all these (Conti section 1.1): as many as the
// Predictor has beams, for each text, best first. What ends stays among them and takes up a place. It goes on until all
// have ended or hold limit tokens with End; with SumLogProb (or nil) it stops when the first has ended, since the others
// only get less likely. One beam is Greedy. More beams search more and mostly find a likelier text, but need not: the
// beginning of what Greedy finds may be pushed out by others that lead nowhere. Of equals the earlier is kept.
func Beam(ctx context.Context, p Predictor, limit int, rank Rank) ([][]Hypothesis, error) {
	sum := rank == nil
	if sum {
		rank = SumLogProb
	}
	beams := make([]beam, p.Sources())
	for i := range beams {
		beams[i] = newBeam(p.Beams())
	}
	tokens := begin(p)
	for range limit {
		logits, err := step(ctx, p, tokens)
		if err != nil {
			return nil, err
		}
		open := false
		for i, b := range beams {
			if b.done(sum) {
				continue
			}
			b.grow(func(slot int) []float64 { return logProbs(logits.Row(i*len(b.slots) + slot)) }, rank)
			for slot, h := range b.slots {
				row := i*len(b.slots) + slot
				if h.parent != slot {
					p.Fork(i*len(b.slots)+h.parent, row)
				}
				tokens[row] = h.token()
			}
			beams[i] = b
			open = open || !b.done(sum)
		}
		if !open {
			break
		}
	}
	best := make([][]Hypothesis, len(beams))
	for i, b := range beams {
		best[i] = b.sorted()
	}
	return best, nil
}

// beam is the hypotheses of one text, each in the slot where the Predictor has it.
type beam struct{ slots []slot }

type slot struct {
	Hypothesis
	score  float64
	live   bool // there is a hypothesis in the slot
	parent int  // the slot that it continues
	order  int  // among its kind, from the best
}

func newBeam(n int) beam {
	b := beam{make([]slot, n)}
	for i := range b.slots {
		b.slots[i].parent, b.slots[i].order = i, i
	}
	b.slots[0].live = true
	return b
}

// token is what the slot is to be continued with; where nothing is, any will do.
func (s slot) token() int {
	switch {
	case !s.live:
		return Begin
	case s.Ended:
		return End
	}
	return s.Tokens[len(s.Tokens)-1]
}

// done says whether nothing can change: all have ended, or the first one has and the others can only get worse.
func (b beam) done(sum bool) bool {
	for _, s := range b.slots {
		if s.live && !s.Ended && (!sum || s.order == 0 || b.first().score <= s.score) {
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

// grow replaces the hypotheses by the best of their continuations. The first of a parent's continuations takes its slot,
// the others the slots of parents that have none.
func (b *beam) grow(logProbs func(slot int) []float64, rank Rank) {
	n := len(b.slots)
	var kept []slot
	offer := func(s slot) {
		at := len(kept)
		for at > 0 && s.score > kept[at-1].score {
			at--
		}
		if at < n {
			kept = slices.Insert(kept, at, s)
			kept = kept[:min(n, len(kept))]
		}
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
				s.LogProb, s.Ended, s.Tokens = sofar+lp, v == End, before
				s.score = rank(s.LogProb, len(before)+1)
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

// sorted is the hypotheses, best first; those that the limit has cut come behind those that have ended.
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
