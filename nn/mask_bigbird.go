package nn

import (
	"math/rand/v2"
	"slices"

	"github.com/pkg/errors"
)

// BigBird is the sparse graph of Zaheer et al. (2020) that Conti's (13) sums over: query i attends to key j if they are
// near, if one of them is global, or if j was drawn at random for i,
//
//	|i − j| ≤ ⌊Width/2⌋  ∪  i ∈ Global  ∪  j ∈ Global  ∪  Random keys per query
//
// so that at most n(w + r) + 2gn of all pairs of n tokens are computed, w odd. Otherwise the attention is the usual
// one, scaled and with its residual outside (errata C8). Combined with Causal it stays within j ≤ i.
//
// The random keys are drawn when a Mask is prepared, from Seed and the query's position. There are Random of them,
// chosen from the keys that the other rules of an All leave visible and that are neither near nor global, or all of
// these keys if there are fewer. Before that they are missing from Visible. All heads share them, so combining BigBird
// with a PerHead is an error. In a long context the kernels gather the keys far from the window, a few queries at a
// time, and compute no tile around them.
type BigBird struct {
	Width  int
	Global []int // tokens
	Random int
	Seed   uint64

	// keys holds the random keys of query i at [b][i]. It has a single b if all sequences have the same keys, and is
	// nil before they are drawn.
	keys [][][]int
}

// Visible reports whether |i − j| ≤ ⌊Width/2⌋, or i or j is global, or j was drawn for i.
func (v BigBird) Visible(b, i, j int) bool {
	return near(i, j, v.Width/2) || slices.Contains(v.Global, i) || slices.Contains(v.Global, j) ||
		v.keys != nil && slices.Contains(v.keys[b%len(v.keys)][i], j)
}

func near(i, j, reach int) bool { return i-j <= reach && j-i <= reach }

// Check returns an error for a width below 1, more random keys than tokens, and global tokens that do not exist.
func (v BigBird) Check(d Dims) error {
	if err := checkWidth(v.Width); err != nil {
		return err
	}
	if v.Random < 0 || v.Random > d.Context {
		return errors.Errorf("%d random keys, not in 0 … %d", v.Random, d.Context)
	}
	return checkGlobal(v.Global, d)
}

func checkGlobal(global []int, d Dims) error {
	for _, token := range global {
		if token < 0 || token >= d.Context {
			return errors.Errorf("global token %d is not in 0 … %d", token, d.Context-1)
		}
	}
	return nil
}

// drawKeys returns the rules with the random keys of every BigBird drawn from what the other rules leave visible.
func drawKeys(rules []Visibility, d Dims) []Visibility {
	others := slices.DeleteFunc(slices.Clone(rules), func(v Visibility) bool { _, ok := v.(BigBird); return ok })
	rules = slices.Clone(rules)
	for i, v := range rules {
		if v, ok := v.(BigBird); ok {
			rules[i] = v.draw(others, d)
		}
	}
	return rules
}

// draw returns v with its random keys.
func (v BigBird) draw(others []Visibility, d Dims) BigBird {
	v.keys = nil
	if v.Random == 0 {
		return v
	}
	batch := 1
	if slices.ContainsFunc(others, perSequence) {
		batch = d.Batch
	}
	keys := make([][][]int, batch)
	for b := range keys {
		for i := range d.Context {
			var candidates []int
			for j := range d.Context {
				if !v.Visible(b, i, j) && visible(others, 0, b, i, j) {
					candidates = append(candidates, j)
				}
			}
			r := min(v.Random, len(candidates))
			rng := rand.New(rand.NewPCG(v.Seed, uint64(i)))
			for k := range r {
				other := k + rng.IntN(len(candidates)-k)
				candidates[k], candidates[other] = candidates[other], candidates[k]
			}
			keys[b] = append(keys[b], slices.Clone(candidates[:r]))
		}
	}
	v.keys = keys
	return v
}

// randomKeys returns the largest number of random keys of any of the rules.
func randomKeys(rules []Visibility) (n int) {
	for _, v := range rules {
		if v, ok := v.(BigBird); ok {
			n = max(n, v.Random)
		}
	}
	return n
}
