package search

import (
	"context"
	"math"

	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// Rank scores a hypothesis for a beam search, which keeps the highest scores. ln p itself prefers short texts; a
// function of ln p and of the number of tokens, including the one that ends the text, can compensate for that.
type Rank func(logProb float64, length int) float64

// LengthPenalty returns the Rank ln p divided by ((5 + length)/6)^α (Wu et al. 2016). If α is not finite, every rank
// is NaN, which Beam refuses.
func LengthPenalty(alpha float64) Rank {
	if math.IsNaN(alpha) || math.IsInf(alpha, 0) {
		return func(float64, int) float64 { return math.NaN() }
	}
	return func(logProb float64, length int) float64 { return logProb / elementary.Pow(float64(5+length)/6, alpha) }
}

// Beam continues every kept hypothesis by every token and keeps the best of all these (Conti section 1.1): for each
// text the number of beams of the Predictor, best first by ln p, or by rank if that is not nil. A hypothesis that has
// ended stays among them and takes up a place. The search continues until all have ended or have limit tokens
// including the one that ends them; by ln p it stops when the first has ended, since the others only become less
// likely. One beam is Greedy. More beams search more and usually find a likelier text, but not always: the beginning of
// Greedy's result may be pushed out by others that lead nowhere. Of equal hypotheses the earlier is kept.
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
	next := make([]int, p.Sources()*p.Beams())
	var tokens []int // nil before the first step
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
			likelihoods := func(slot int) []float64 { return logProbs(logits.Row(i*len(b.slots) + slot)) }
			if err := b.grow(likelihoods, rank, p.Ends); err != nil {
				return nil, err
			}
			for slot, h := range b.slots {
				row := i*len(b.slots) + slot
				if h.parent != slot {
					p.Fork(i*len(b.slots)+h.parent, row)
				}
				next[row] = h.token()
			}
			beams[i] = b
			open = open || !b.done(sum)
		}
		if !open {
			break
		}
		tokens = next
	}
	best := make([][]Hypothesis, len(beams))
	for i, b := range beams {
		best[i] = b.sorted()
	}
	return best, nil
}
