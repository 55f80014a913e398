package nn

import (
	"math/rand/v2"
	"slices"

	"github.com/pkg/errors"
)

// BigBird is the sparse graph of Zaheer et al. (2020) that Conti's (13) sums over: query i sees key j if they are near, if
// one of them is global, or if chance has drawn j for i,
//
//	|i − j| ≤ ⌊Width/2⌋  ∪  i ∈ Global  ∪  j ∈ Global  ∪  Random keys per query
//
// so that at most n(w + r) + 2gn pairs of n tokens meet, w odd. Around it stands attention as everywhere else, scaled
// and with its residual outside (errata C8). Combined with Causal it stays within j ≤ i. The random keys are drawn when
// a Mask is made, from Seed and the query's place: Random of those which the rest of an All lets the query see and which
// it does not see anyway, or all of them where there are not so many. Visible itself knows nothing of them. All heads have
// the same ones, so a PerHead beside them is an error. Scattered keys save the kernels no time: they leave out whole tiles
// before the first and behind the last key that a query sees.
type BigBird struct {
	Width  int
	Global []int // tokens
	Random int
	Seed   uint64
}

// Visible is |i − j| ≤ ⌊Width/2⌋, or i or j is global.
func (v BigBird) Visible(_, i, j int) bool {
	return near(i, j, v.Width/2) || slices.Contains(v.Global, i) || slices.Contains(v.Global, j)
}

func near(i, j, reach int) bool { return i-j <= reach && j-i <= reach }

func (v BigBird) check(d Dims) error {
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

// bigBird is a BigBird whose keys are drawn.
type bigBird struct {
	BigBird
	batch, context int
	keys           [][]int // of query i in sequence b at b·context + i
}

func (v *bigBird) Visible(b, i, j int) bool {
	return v.BigBird.Visible(b, i, j) || slices.Contains(v.keys[b%v.batch*v.context+i], j)
}

func (v *bigBird) PerSequence() bool { return v.batch > 1 }

// drawn is v with the random keys of every BigBird in it, drawn among what the others let a query see.
func drawn(v Visibility, others All, d Dims) Visibility {
	switch v := v.(type) {
	case BigBird:
		return v.draw(others, d)
	case All:
		all := make(All, len(v))
		for i, e := range v {
			rest := slices.DeleteFunc(slices.Concat(others, v[:i], v[i+1:]), isBigBird)
			all[i] = drawn(e, rest, d)
		}
		return all
	}
	return v
}

// checkRandom refuses random keys beside what differs between heads: they are drawn once for all heads.
func checkRandom(v Visibility) error {
	if n := randomKeys(v); n > 0 && perHead(v) {
		return errors.Errorf("%d random keys, drawn once for all heads, beside a mask that differs between heads", n)
	}
	return nil
}

func randomKeys(v Visibility) (n int) {
	switch v := v.(type) {
	case BigBird:
		return v.Random
	case All:
		for _, e := range v {
			n = max(n, randomKeys(e))
		}
	}
	return n
}

func isBigBird(v Visibility) bool { _, ok := v.(BigBird); return ok }

func (v BigBird) draw(others All, d Dims) Visibility {
	if v.Random == 0 {
		return v
	}
	out := &bigBird{BigBird: v, batch: 1, context: d.Context}
	if perSequence(others) {
		out.batch = d.Batch
	}
	for b := range out.batch {
		for i := range d.Context {
			var candidates []int
			for j := range d.Context {
				if !v.Visible(b, i, j) && others.Visible(b, i, j) {
					candidates = append(candidates, j)
				}
			}
			r := min(v.Random, len(candidates))
			rng := rand.New(rand.NewPCG(v.Seed, uint64(i)))
			for k := range r {
				other := k + rng.IntN(len(candidates)-k)
				candidates[k], candidates[other] = candidates[other], candidates[k]
			}
			out.keys = append(out.keys, slices.Clip(slices.Clone(candidates[:r])))
		}
	}
	return out
}
