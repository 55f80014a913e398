package seq2seq

import (
	"context"
	"math"
)

// Rank is what a beam search wants most of, instead of ln p itself: that prefers short texts, and a function of ln p
// and of the number of tokens, with End, can make up for it.
type Rank func(logProb float64, length int) float64

// LengthPenalty is ln p divided by ((5 + length)/6)^α (Wu et al. 2016). α is a finite number; of another every rank is
// NaN, which Beam refuses.
func LengthPenalty(alpha float64) Rank {
	if math.IsNaN(alpha) || math.IsInf(alpha, 0) {
		return func(float64, int) float64 { return math.NaN() }
	}
	return func(logProb float64, length int) float64 { return logProb / math.Pow(float64(5+length)/6, alpha) }
}

// Beam continues every kept hypothesis by every token, and keeps the best of all these (Conti section 1.1): as many as
// the Predictor has beams, for each text, best first by ln p, or by rank if that is not nil. What ends stays among them
// and takes up a place. It goes on until all have ended or hold limit tokens with End; by ln p it stops when the first
// has ended, since the others only get less likely. One beam is Greedy. More beams search more and mostly find a
// likelier text, but need not: the beginning of what Greedy finds may be pushed out by others that lead nowhere. Of
// equals the earlier is kept.
func Beam(ctx context.Context, p Predictor, limit int, rank Rank) ([][]Hypothesis, error) {
	if err := checkSearch(ctx, p, limit); err != nil {
		return nil, err
	}
	sum := rank == nil
	if sum {
		rank = func(logProb float64, _ int) float64 { return logProb }
	}
	beams := make([]beam, p.Sources())
	for i := range beams {
		beams[i] = newBeam(p.Beams())
	}
	tokens, ends := begin(p), endsOf(p)
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
			if err := b.grow(func(slot int) []float64 { return logProbs(logits.Row(i*len(b.slots) + slot)) }, rank, ends); err != nil {
				return nil, err
			}
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
